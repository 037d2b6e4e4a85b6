import { type ClusterRole, equalJson, type PolicyRule, selectorMatches } from '@gantry/api';

export type Action = { readonly kind: 'setRules'; readonly rules: readonly PolicyRule[] };

/** Gives a role that gathers others' rules what those have now: by selector, then by name, each rule once. */
export function planAggregation(role: ClusterRole | undefined, all: readonly ClusterRole[]): readonly Action[] {
  if (role?.aggregationRule === undefined) return [];
  const sorted = [...all].sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
  const rules: PolicyRule[] = [];
  for (const selector of role.aggregationRule.clusterRoleSelectors ?? []) {
    for (const other of sorted) {
      if (other.metadata.name === role.metadata.name || !selectorMatches(selector, other.metadata.labels ?? {}))
        continue;
      for (const rule of other.rules ?? []) {
        if (!rules.some((known) => equalJson(known, rule))) rules.push(rule);
      }
    }
  }
  return equalJson(rules, role.rules ?? []) ? [] : [{ kind: 'setRules', rules }];
}
