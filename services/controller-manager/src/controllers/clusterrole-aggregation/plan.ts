import type { Plan } from '@gantry/base';
import { selectorMatches } from '@gantry/apimachinery';
import { type ClusterRole, equalJson, type PolicyRule } from '@gantry/objects';

/** `undefined` gives up rules that this controller has set; those of others stay. */
export type Action = { readonly kind: 'setRules'; readonly rules: readonly PolicyRule[] | undefined };

/** The manager of rules that this controller has set, as in Kubernetes. */
export const MANAGER = 'clusterrole-aggregation-controller';

/**
 * Sets the rules of an aggregated role to those of the roles it selects: by selector, then by name, each rule once. Where these have none,
 * it only takes back what it has set, as Kubernetes' apply without rules does.
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
