import type { ResourceDefinition } from '@gantry/apimachinery';
import { runtimeClasses } from './runtime-class.ts';

/** The kinds of `node.k8s.io`, in discovery's order. */
export const nodeKinds: readonly ResourceDefinition[] = [runtimeClasses];
