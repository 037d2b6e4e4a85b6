import type { ClusterRole, PolicyRule } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { planAggregation } from './plan.ts';

const rule = (resource: string): PolicyRule => ({ apiGroups: [''], resources: [resource], verbs: ['get'] });
const role = (name: string, label: string | undefined, ...rules: PolicyRule[]): ClusterRole => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name, ...(label === undefined ? {} : { labels: { to: label } }) },
  rules,
});
const gathering: ClusterRole = {
  ...role('all', 'x'),
  aggregationRule: { clusterRoleSelectors: [{ matchLabels: { to: 'x' } }, { matchLabels: { to: 'y' } }] },
};

describe('gathering rules', () => {
  it('takes those of the chosen roles by selector and name, each once and not its own', () => {
    const all = [role('z', 'y', rule('a')), role('c', 'x', rule('b'), rule('a')), role('b', 'x', rule('c')), gathering];
    expect(planAggregation(gathering, all).actions).toEqual([
      { kind: 'setRules', rules: [rule('c'), rule('b'), rule('a')] },
    ]);
  });

  it('has nothing to do once that is so, nor for other roles', () => {
    const all = [role('b', 'x', rule('c'))];
    expect(planAggregation({ ...gathering, rules: [rule('c')] }, all).actions).toEqual([]);
    expect(planAggregation(role('b', 'x'), all).actions).toEqual([]);
    expect(planAggregation(undefined, all).actions).toEqual([]);
  });

  it('gives up the rules of a role that is gone', () => {
    const fieldsV1 = { 'f:rules': {} };
    const managedFields = [{ manager: 'clusterrole-aggregation-controller', operation: 'Apply', fieldsV1 }];
    const before = { ...gathering, metadata: { ...gathering.metadata, managedFields }, rules: [rule('c')] };
    expect(planAggregation(before, []).actions).toEqual([{ kind: 'setRules', rules: undefined }]);
  });

  it.each([
    ['no manager has', []],
    ['a user has updated', [{ manager: 'kubectl', operation: 'Update', fieldsV1: { 'f:rules': {} } }]],
    ['a user has applied', [{ manager: 'kubectl', operation: 'Apply', fieldsV1: { 'f:rules': {} } }]],
    ['it has set nothing in', [{ manager: 'clusterrole-aggregation-controller', operation: 'Apply', fieldsV1: {} }]],
  ])('leaves rules that %s where no role has any', (_who, managedFields) => {
    const own = { ...gathering, metadata: { ...gathering.metadata, managedFields }, rules: [rule('c')] };
    expect(planAggregation(own, [role('a', 'x')]).actions).toEqual([]);
  });
});
