import type { ResourceDefinition } from '@gantry/apimachinery';
import { deviceClasses } from './device-class.ts';
import { resourceClaimTemplates } from './resource-claim-template.ts';
import { resourceClaims } from './resource-claim.ts';
import { resourceSlices } from './resource-slice.ts';

/** The kinds of `resource.k8s.io`, in discovery's order. */
export const resourceKinds: readonly ResourceDefinition[] = [
  deviceClasses,
  resourceClaims,
  resourceClaimTemplates,
  resourceSlices,
];
