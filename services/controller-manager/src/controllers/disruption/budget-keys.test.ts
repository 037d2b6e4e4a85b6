import { type Pod, type PodDisruptionBudget, REPLICA_SETS, type ReplicaSet } from '@gantry/objects';
import { expect, it } from 'vitest';
import { sketchPod } from '../../testing/service-fixtures.ts';
import { controlledPods, watchCountedPods, watchScale } from './budget-keys.ts';

const budget: PodDisruptionBudget = {
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'keep', namespace: 'n' },
  spec: { selector: { matchLabels: { app: 'a' } } },
};
const cache = { selecting: () => [budget], controlledBy: () => [before] } as unknown as Parameters<
  typeof watchCountedPods.keys
>[2];
const before = sketchPod({ name: 'a' });
const owned = (uid: string): Pod => {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: uid, uid, controller: true };
  return { ...before, metadata: { ...before.metadata, ownerReferences: [owner] } };
};

it.each([
  ['a new pod', before, undefined, 1],
  ['a pod that is gone', undefined, before, 1],
  ['its readiness', sketchPod({ name: 'a', ready: false }), before, 1],
  ['its deletion', sketchPod({ name: 'a', deleted: true }), before, 1],
  ['its controller', owned('b'), owned('a'), 1],
  ['its labels', sketchPod({ name: 'a', labels: { app: 'b' } }), before, 1],
  ['nothing that budgets count', sketchPod({ name: 'a', ip: '10.0.0.1', phase: 'Unknown' }), before, 0],
  ['a pod that it never selected', sketchPod({ name: 'a', labels: { app: 'c' } }), undefined, 0],
])('what queues a budget: %s', (_, pod, old, count) => {
  expect(watchCountedPods.keys(pod, old, cache)).toEqual(Array(count).fill({ namespace: 'n', name: 'keep' }));
});

const set = (uid: string, replicas: number, deployment?: string): ReplicaSet => {
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd', uid: deployment ?? '', controller: true };
  const ownerReferences = deployment === undefined ? [] : [owner];
  const selector = { matchLabels: { app: 'a' } };
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: 's', namespace: 'n', uid, ownerReferences },
    spec: { replicas, selector },
  };
};

it.each([
  ['a new set', set('1', 2), undefined, 1],
  ['its replicas', set('1', 3), set('1', 2), 1],
  ['its controller', set('1', 2, 'd'), set('1', 2), 1],
  ['another set of its name, whose predecessor is not seen to go', set('2', 2), set('1', 2), 1],
  ['nothing that budgets count', set('1', 2), set('1', 2), 0],
  ['a set that is gone', undefined, set('1', 2), 0],
])('what queues a budget by its scale: %s', (_, object, old, count) => {
  const { keys } = watchScale(REPLICA_SETS, controlledPods);
  expect(keys(object, old, cache)).toEqual(Array(count).fill({ namespace: 'n', name: 'keep' }));
});
