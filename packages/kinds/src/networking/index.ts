import type { ResourceDefinition } from '@gantry/apimachinery';
import { ingressClasses } from './ingress-class.ts';
import { ingresses } from './ingress.ts';
import { ipAddresses } from './ip-address.ts';
import { networkPolicies } from './network-policy.ts';
import { serviceCidrs } from './service-cidr.ts';

/** The kinds of `networking.k8s.io`, in discovery's order. */
export const networkingKinds: readonly ResourceDefinition[] = [
  ingressClasses,
  ingresses,
  ipAddresses,
  networkPolicies,
  serviceCidrs,
];
