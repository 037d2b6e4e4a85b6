import type { TopologySpreadConstraint } from '@gantry/objects';

/** A constraint on pods with the label `app: web`, with a `maxSkew` of 1 unless `more` says otherwise. */
export function spreadBy(topologyKey: string, more: Partial<TopologySpreadConstraint> = {}): TopologySpreadConstraint {
  const labelSelector = { matchLabels: { app: 'web' } };
  return { maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector, ...more };
}
