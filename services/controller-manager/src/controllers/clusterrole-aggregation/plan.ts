import type { Plan } from '@gantry/base';
import { selectorMatches } from '@gantry/apimachinery';
import { type ClusterRole, equalJson, type PolicyRule } from '@gantry/objects';

/** `undefined` gives up the rules that this controller has set; rules of other managers stay. */
export type Action = { readonly kind: 'setRules'; readonly rules: readonly PolicyRule[] | undefined };

/** The field manager of this controller, as in Kubernetes. */
export const MANAGER = 'clusterrole-aggregation-controller';

/**
 * Sets the rules of an aggregated role to those of the roles that it selects: ordered by selector, then by name, each rule once. If there
 * are none, it only gives up the rules that it has set, like Kubernetes' apply without rules.
 */
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
  if (rules.length === 0) return { actions: hasSetRules(role) ? [{ kind: 'setRules', rules: undefined }] : [] };
  return { actions: equalJson(rules, role.rules ?? []) ? [] : [{ kind: 'setRules', rules }] };
}

function hasSetRules({ metadata }: ClusterRole): boolean {
  const applied = (metadata.managedFields ?? []).filter(
    ({ manager, operation }) => manager === MANAGER && operation === 'Apply',
  );
  return applied.some(({ fieldsV1 = {} }) => 'f:rules' in fieldsV1);
}
