import type { ResourceDefinition } from '@gantry/apimachinery';
import { endpointSlices } from './endpoint-slice.ts';

/** The kinds of `discovery.k8s.io`, in discovery's order. */
export const discoveryKinds: readonly ResourceDefinition[] = [endpointSlices];
