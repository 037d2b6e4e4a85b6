import type { ResourceDefinition } from '@gantry/apimachinery';
import { podDisruptionBudgets } from './pod-disruption-budget.ts';

/** The kinds of `policy`, in discovery's order. */
export const policyKinds: readonly ResourceDefinition[] = [podDisruptionBudgets];
