import type { Plan } from '@gantry/base';
import { selectorMatches } from '@gantry/apimachinery';
import { type ClusterRole, equalJson, type PolicyRule } from '@gantry/objects';

export type Action = { readonly kind: 'setRules'; readonly rules: readonly PolicyRule[] };

/** Sets the rules of an aggregated role to those of the roles it selects: by selector, then by name, each rule once. */
export function planAggregation(role: ClusterRole | undefined, all: readonly ClusterRole[]): Plan<Action> {
  if (role?.aggregationRule === undefined) return { actions: [] };
  const sorted = [...all].sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
  const selected = (role.aggregationRule.clusterRoleSelectors ?? []).flatMap((selector) =>
    sorted.filter(
      ({ metadata }) => metadata.name !== role.metadata.name && selectorMatches(selector, metadata.labels ?? {}),
    ),
  );
  const rules: PolicyRule[] = [];
  for (const rule of selected.flatMap((other) => other.rules ?? [])) {
    if (!rules.some((known) => equalJson(known, rule))) rules.push(rule);
  }
  return { actions: equalJson(rules, role.rules ?? []) ? [] : [{ kind: 'setRules', rules }] };
}
