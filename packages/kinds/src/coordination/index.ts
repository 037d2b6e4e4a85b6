import type { ResourceDefinition } from '@gantry/apimachinery';
import { leases } from './lease.ts';

/** The kinds of `coordination.k8s.io`, in discovery's order. */
export const coordinationKinds: readonly ResourceDefinition[] = [leases];
