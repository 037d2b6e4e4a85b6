import type { ResourceDefinition } from '@gantry/apimachinery';
import { apiServices } from './api-service.ts';

/** The kinds of `apiregistration.k8s.io`, in discovery's order. */
export const apiregistrationKinds: readonly ResourceDefinition[] = [apiServices];
