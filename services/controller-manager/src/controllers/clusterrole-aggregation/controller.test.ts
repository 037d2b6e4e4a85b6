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
