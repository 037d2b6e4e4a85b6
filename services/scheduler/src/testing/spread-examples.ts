import type { TopologySpreadConstraint } from '@gantry/objects';

/** A constraint on pods with the label `app: web`: of their domains none is ahead by more than one, unless it says otherwise. */
export function spreadBy(topologyKey: string, more: Partial<TopologySpreadConstraint> = {}): TopologySpreadConstraint {
  const labelSelector = { matchLabels: { app: 'web' } };
  return { maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector, ...more };
}
