import { DEPLOYMENTS, PODS, REPLICA_SETS } from '@gantry/objects';
import { expect, it } from 'vitest';
import { World } from '../world.ts';
import { rolloutInvariant } from './rollouts.ts';
import { deleted, owned, play, type Step } from './scripted-world.ts';

type SetCounts = readonly [replicas: number, ready: number, available: number];

it.each<readonly [name: string, old: SetCounts, next: SetCounts | undefined, count: number]>([
  ['another set reports a pod that it has deleted', [1, 2, 2], [1, 1, 1], 0],
  ['another set reports none', [1, 2, 2], [1, 0, 0], 1],
  ['another set reports one that is not available yet', [1, 2, 2], [1, 1, 0], 1],
  ['the only set deletes a pod too many, and has not reported it yet', [2, 2, 2], undefined, 1],
  ['a set deletes a ready pod that is not available yet', [1, 2, 1], undefined, 0],
  ['a set deletes a pod too many, beside an empty one', [2, 2, 2], [0, 1, 1], 1],
])('a rollout below its bound is judged by what is left, where %s', (_name, old, next, count) => {
  const set = (name: string, [replicas, readyReplicas, availableReplicas]: SetCounts): Step => [
    REPLICA_SETS,
    name,
    { metadata: owned('Deployment', 'd'), spec: { replicas }, status: { readyReplicas, availableReplicas } },
  ];
  const rollingUpdate = { maxSurge: 1, maxUnavailable: 0 };
  const deployment = { spec: { replicas: 2, strategy: { type: 'RollingUpdate', rollingUpdate } } };
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  const podOf = (name: string, metadata: object = {}): Step => [
    PODS,
    name,
    { metadata: { ...owned('ReplicaSet', 'old'), ...metadata }, status },
  ];
  const world = new World();
  const violations: string[] = [];
  rolloutInvariant.watch(world, (violation) => violations.push(violation));
  const sets = [set('old', old), ...(next === undefined ? [] : [set('new', next)])];
  play(world, [[DEPLOYMENTS, 'd', deployment], ...sets, podOf('a'), podOf('b')]);
  play(world, [podOf('b', deleted)]);
  expect(violations).toHaveLength(count);
});

it('a rollout has no lower bound while a raised minReadySeconds makes pods unavailable', () => {
  const rollingUpdate = { maxSurge: 1, maxUnavailable: 0 };
  const deployment = (minReadySeconds: number): Step => [
    DEPLOYMENTS,
    'd',
    { spec: { replicas: 1, minReadySeconds, strategy: { type: 'RollingUpdate', rollingUpdate } } },
  ];
  const podOf = (metadata: object = {}): Step => [
    PODS,
    'a',
    {
      metadata: { ...owned('ReplicaSet', 'old'), ...metadata },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    },
  ];
  const world = new World();
  const violations: string[] = [];
  rolloutInvariant.watch(world, (violation) => violations.push(violation));
  const set: Step = [REPLICA_SETS, 'old', { metadata: owned('Deployment', 'd'), spec: { replicas: 1 } }];
  play(world, [deployment(0), set, podOf(), deployment(3), podOf(deleted)]);
  expect(violations).toEqual([]);
});

it.each<readonly [name: string, sets: readonly string[], count: number]>([
  ['is scaled during a rollout', ['old', 'new'], 0],
  ['is scaled while it has one set', ['old', 'old'], 1],
])('a Deployment that %s', (_name, [first = '', second = ''], count) => {
  const rollingUpdate = { maxSurge: 1, maxUnavailable: 0 };
  const deployment = (replicas: number): Step => [
    DEPLOYMENTS,
    'd',
    { spec: { replicas, strategy: { type: 'RollingUpdate', rollingUpdate } } },
  ];
  const set = (name: string): Step => [
    REPLICA_SETS,
    name,
    {
      metadata: owned('Deployment', 'd'),
      spec: { replicas: 1 },
      status: { availableReplicas: name === 'old' ? 3 : 0 },
    },
  ];
  const podOf = (name: string, owner: string, isReady: boolean, metadata: object = {}): Step => [
    PODS,
    name,
    {
      metadata: { ...owned('ReplicaSet', owner), ...metadata },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
    },
  ];
  const world = new World();
  const violations: string[] = [];
  rolloutInvariant.watch(world, (violation) => violations.push(violation));
  play(world, [deployment(5), set('old'), set('new'), podOf('a', first, true), podOf('b', second, false)]);
  play(world, [deployment(2), podOf('c', 'old', true), podOf('a', 'old', true, deleted)]);
  expect(violations).toHaveLength(count);
});

it.each<readonly [name: string, old: { replicas: number; reported: number }, count: number]>([
  ['had more pods when it was scaled down', { replicas: 1, reported: 2 }, 0],
  ['had no more pods than it should', { replicas: 2, reported: 2 }, 1],
])('a pod beyond the bound is judged by what another set has still to remove, where it %s', (_name, old, count) => {
  const set = (name: string, replicas: number, reported: number): Step => [
    REPLICA_SETS,
    name,
    { metadata: owned('Deployment', 'd'), spec: { replicas }, status: { replicas: reported } },
  ];
  const rollingUpdate = { maxSurge: 0, maxUnavailable: 1 };
  const deployment = { spec: { replicas: 2, strategy: { type: 'RollingUpdate', rollingUpdate } } };
  const podOf = (name: string, owner: string): Step => [
    PODS,
    name,
    { metadata: owned('ReplicaSet', owner), status: { phase: 'Running' } },
  ];
  const world = new World();
  const violations: string[] = [];
  rolloutInvariant.watch(world, (violation) => violations.push(violation));
  const sets = [set('old', old.replicas, old.reported), set('new', 1, 0)];
  play(world, [[DEPLOYMENTS, 'd', deployment], ...sets, podOf('a', 'old'), podOf('b', 'old'), podOf('c', 'new')]);
  expect(violations).toHaveLength(count);
});
