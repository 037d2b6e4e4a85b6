import { readFileSync } from 'node:fs';
import type { ClusterRole, PolicyRule } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { type Action, MANAGER, planAggregation } from './plan.ts';

interface RoleCase {
  readonly name?: string;
  readonly label?: string;
  /** Labels: a selector for each. The role is not aggregated when they are missing. */
  readonly selects?: readonly string[];
  /** The resources that its rules allow to be read, one rule for each. */
  readonly rules?: readonly string[];
  /** Who has written to the role. The fields are its rules unless stated otherwise. */
  readonly setBy?: readonly {
    readonly manager: string;
    readonly operation: string;
    readonly fields?: Record<string, unknown>;
  }[];
}

interface Case {
  readonly name: string;
  readonly role?: RoleCase;
  readonly others?: readonly RoleCase[];
  readonly want: readonly (readonly string[] | 'given up')[];
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];
const ruleOf = (resource: string): PolicyRule => ({ apiGroups: [''], resources: [resource], verbs: ['get'] });

function roleOf({ name = 'all', label, selects, rules = [], setBy = [] }: RoleCase): ClusterRole {
  const managedFields = setBy.map(({ manager, operation, fields = { 'f:rules': {} } }) => ({
    manager,
    operation,
    fieldsV1: fields,
  }));
  const selectors = selects?.map((to) => ({ matchLabels: { to } }));
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name, managedFields, ...(label === undefined ? {} : { labels: { to: label } }) },
    ...(selectors === undefined ? {} : { aggregationRule: { clusterRoleSelectors: selectors } }),
    rules: rules.map(ruleOf),
  };
}

/** The role after the controller's apply. */
function after(role: ClusterRole, { rules }: Action): ClusterRole {
  const others = (role.metadata.managedFields ?? []).filter(({ manager }) => manager !== MANAGER);
  const own = { manager: MANAGER, operation: 'Apply', fieldsV1: rules === undefined ? {} : { 'f:rules': {} } };
  return {
    ...role,
    metadata: { ...role.metadata, managedFields: [...others, own] },
    rules: [...(rules ?? [])],
  };
}

describe('gathering rules', () => {
  it.each(CASES)('$name', ({ role: given, others = [], want }) => {
    const role = given === undefined ? undefined : roleOf(given);
    const all = [...others.map(roleOf), ...(role === undefined ? [] : [role])];
    const { actions } = planAggregation(role, all);
    expect(actions).toEqual(
      want.map((rules) => ({ kind: 'setRules', rules: rules === 'given up' ? undefined : rules.map(ruleOf) })),
    );
    // Once the actions are carried out, no more are planned.
    if (role === undefined) return;
    const then = actions.reduce(after, role);
    expect(planAggregation(then, [...others.map(roleOf), then]).actions).toEqual([]);
  });
});
