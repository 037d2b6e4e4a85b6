import type { ResourceDefinition } from '@gantry/apimachinery';
import { flowSchemas } from './flow-schema.ts';
import { priorityLevelConfigurations } from './priority-level-configuration.ts';

/** The kinds of `flowcontrol.apiserver.k8s.io`, in discovery's order. */
export const flowcontrolKinds: readonly ResourceDefinition[] = [flowSchemas, priorityLevelConfigurations];
