import type { ResourceDefinition } from '@gantry/apimachinery';
import { customResourceDefinitions } from './custom-resource-definition.ts';

/** The kinds of `apiextensions.k8s.io`, in discovery's order. */
export const apiextensionsKinds: readonly ResourceDefinition[] = [customResourceDefinitions];
