import { CLUSTER_ROLES, type ClusterRole } from '@gantry/objects';
import { expect, it } from 'vitest';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { clusterRoleAggregationController } from './controller.ts';

const API = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' } as const;
const RULE = { apiGroups: [''], resources: ['pods'], verbs: ['get'] };
const PART: ClusterRole = { ...API, metadata: { name: 'part', labels: { to: 'whole' } }, rules: [RULE] };
const WHOLE: ClusterRole = {
  ...API,
  metadata: { name: 'whole' },
  aggregationRule: { clusterRoleSelectors: [{ matchLabels: { to: 'whole' } }] },
  rules: [],
};

it('applies the rules alone, as their own manager', async () => {
  const { client, clock, run } = createControllerHarness();
  await client.put(CLUSTER_ROLES, PART);
  await client.put(CLUSTER_ROLES, WHOLE);
  run([clusterRoleAggregationController]);
  await clock.advance(1000);
  const whole = client.all(CLUSTER_ROLES).find(({ metadata }) => metadata.name === 'whole');
  expect(whole).toMatchObject({ aggregationRule: WHOLE.aggregationRule, rules: [RULE] });
  const [managed] = (whole?.metadata.managedFields ?? []).filter(({ operation }) => operation === 'Apply');
  expect(managed).toMatchObject({ manager: 'clusterrole-aggregation-controller', fieldsV1: { 'f:rules': {} } });
});

it('takes back the rules that it has set when no role is left, and leaves those of others', async () => {
  const { client, clock, run, stop } = createControllerHarness();
  const other = { ...WHOLE, metadata: { name: 'other' }, rules: [RULE] };
  other.aggregationRule = { clusterRoleSelectors: [{ matchLabels: { to: 'other' } }] };
  for (const one of [PART, WHOLE, other]) await client.put(CLUSTER_ROLES, one);
  run([clusterRoleAggregationController]);
  await clock.advance(1000);
  const rules = () => client.all(CLUSTER_ROLES).map((one) => [one.metadata.name, (one.rules ?? []).length]);
  expect(rules().sort()).toEqual([
    ['other', 1],
    ['part', 1],
    ['whole', 1],
  ]);
  await client.delete(CLUSTER_ROLES, { namespace: '', name: 'part' }, {}, stop.signal);
  await clock.advance(1000);
  expect(rules().sort()).toEqual([
    ['other', 1],
    ['whole', 0],
  ]);
  const writes = client.writes.filter(({ verb, resource }) => verb === 'patch' && resource === CLUSTER_ROLES);
  expect(writes).toHaveLength(2);
});

it('does not bring a role back that was deleted meanwhile', async () => {
  const { client, clock, stop, run } = createControllerHarness();
  await client.put(CLUSTER_ROLES, PART);
  await client.put(CLUSTER_ROLES, WHOLE);
  const meanwhile = async () => {
    await client.delete(CLUSTER_ROLES, { namespace: '', name: 'whole' }, {}, stop.signal);
  };
  run([clusterRoleAggregationController], { meanwhile });
  await clock.advance(1000);
  expect(client.all(CLUSTER_ROLES).map(({ metadata }) => metadata.name)).toEqual(['part']);
});
