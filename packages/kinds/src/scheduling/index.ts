import type { ResourceDefinition } from '@gantry/apimachinery';
import { priorityClasses } from './priority-class.ts';

/** The kinds of `scheduling.k8s.io`, in discovery's order. */
export const schedulingKinds: readonly ResourceDefinition[] = [priorityClasses];
