import { formatTime } from '@gantry/base';
import type { Pod, ReplicaSet, ReplicationController } from '@gantry/objects';
import { describe, expect, test } from 'vitest';
import { controllerReference } from '../ownership.ts';
import { BURST, type ObservedPodSet, planReplicaSet } from './plan.ts';
import type { PodSet } from './pod-set.ts';

const NOW = Date.parse('2026-01-01T00:10:00Z');

const set: ReplicaSet = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: 'set', namespace: 'n', uid: 'rs-1', generation: 2 },
  spec: { replicas: 2, selector: { matchLabels: { app: 'a' } }, template: { metadata: { labels: { app: 'a' } } } },
};

function pod(
  name: string,
  change: {
    labels?: Record<string, string>;
    owned?: boolean;
    ready?: boolean;
    node?: string;
    cost?: string;
    deleting?: boolean;
    readySeconds?: number;
    phase?: string;
    owner?: PodSet;
  } = {},
): Pod {
  const {
    labels = { app: 'a' },
    owned = true,
    ready = true,
    node = 'node',
    cost,
    deleting = false,
    readySeconds = 60,
    phase = ready ? 'Running' : 'Pending',
    owner = set,
  } = change;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      uid: name,
      namespace: 'n',
      labels,
      ...(owned ? { ownerReferences: [controllerReference(owner)] } : {}),
      ...(cost === undefined ? {} : { annotations: { 'controller.kubernetes.io/pod-deletion-cost': cost } }),
      ...(deleting ? { deletionTimestamp: formatTime(NOW) } : {}),
      creationTimestamp: formatTime(NOW - 120_000),
    },
    spec: { containers: [], nodeName: node },
    status: ready
      ? {
          phase,
          conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: formatTime(NOW - readySeconds * 1000) }],
        }
      : { phase },
  };
}

function plan(pods: readonly Pod[], change: Partial<ObservedPodSet> = {}) {
  return planReplicaSet({ set, pods, relatedPods: pods, failure: undefined, ...change }, NOW);
}

const deleted = (pods: readonly Pod[], of: PodSet = set) =>
  plan(pods, { set: of }).actions.flatMap((action) => (action.kind === 'deletePod' ? [action.pod.metadata.name] : []));

describe('planReplicaSet', () => {
  test('missing pods are created at once', () => {
    expect(plan([]).actions).toContainEqual({ kind: 'createPods', count: 2 });
    expect(plan([pod('a')]).actions).toContainEqual({ kind: 'createPods', count: 1 });
  });

  test('a pod that is being deleted counts as gone', () => {
    const { actions } = plan([pod('a'), pod('b', { deleting: true })]);
    expect(actions).toContainEqual({ kind: 'createPods', count: 1 });
    expect(actions.at(-1)).toMatchObject({ status: { replicas: 1, terminatingReplicas: 1 } });
  });

  test('the least useful pods go first', () => {
    const one = { ...set, spec: { ...set.spec, replicas: 1, selector: { matchLabels: { app: 'a' } } } };
    expect(deleted([pod('running'), pod('pending', { ready: false })], one)).toEqual(['pending']);
    expect(deleted([pod('assigned', { ready: false }), pod('free', { ready: false, node: '' })], one)).toEqual([
      'free',
    ]);
    expect(
      deleted([pod('five', { cost: '5' }), pod('minus', { cost: '-1' }), pod('ten', { cost: '10' })], one),
    ).toEqual(['minus', 'five']);
    expect(deleted([pod('a', { node: 'x' }), pod('b', { node: 'y' }), pod('c', { node: 'y' })], one)).toHaveLength(2);
    expect(deleted([pod('long', { readySeconds: 600 }), pod('short', { readySeconds: 5 })], one)).toEqual(['short']);
  });

  test('where some stay, a pod that is not ready goes only as it was seen', () => {
    const asSeen = (pods: readonly Pod[], replicas: number) =>
      plan(pods, {
        set: { ...set, spec: { ...set.spec, replicas, selector: { matchLabels: { app: 'a' } } } },
      }).actions.flatMap((action) => (action.kind === 'deletePod' ? [action.asSeen] : []));
    expect(asSeen([pod('running'), pod('pending', { ready: false })], 1)).toEqual([true]);
    expect(asSeen([pod('running'), pod('other')], 1)).toEqual([false]);
    expect(asSeen([pod('running'), pod('pending', { ready: false })], 0)).toEqual([false, false]);
  });

  test('selected orphans are adopted, unselected ones released', () => {
    const { actions } = plan([pod('orphan', { owned: false }), pod('lost', { labels: { app: 'free' } })]);
    expect(actions.map((action) => action.kind)).toEqual(['adopt', 'release', 'createPods', 'updateStatus']);
  });

  test('a set that is being deleted neither creates nor adopts', () => {
    const replicaSet = { ...set, metadata: { ...set.metadata, deletionTimestamp: formatTime(NOW) } };
    expect(plan([pod('orphan', { owned: false })], { set: replicaSet }).actions.map((a) => a.kind)).toEqual([
      'updateStatus',
    ]);
  });

  test('minReadySeconds delays availability and says when to look again', () => {
    const replicaSet = { ...set, spec: { ...set.spec, minReadySeconds: 30, selector: { matchLabels: { app: 'a' } } } };
    const result = plan([pod('a', { readySeconds: 10 }), pod('b', { readySeconds: 40 })], { set: replicaSet });
    expect(result.actions.at(-1)).toMatchObject({ status: { readyReplicas: 2, availableReplicas: 1 } });
    expect(result.requeueAt).toBe(NOW + 20_000);
  });

  test('a failure to create becomes a condition and goes when creation works again', () => {
    const failure = { reason: 'FailedCreate', message: 'pods "x" is forbidden' } as const;
    const failed = plan([pod('a')], { failure }).actions.at(-1);
    expect(failed).toMatchObject({
      kind: 'updateStatus',
      status: { conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate' }] },
    });
    const status = failed?.kind === 'updateStatus' ? failed.status : {};
    const again = plan([pod('a'), pod('b')], { set: { ...set, status: { replicas: 1, ...status } } }).actions.at(-1);
    expect(again?.kind === 'updateStatus' ? again.status.conditions : 'none').toBeUndefined();
  });

  test('planning again after the status is written yields nothing', () => {
    const pods = [pod('a'), pod('b')];
    const first = plan(pods).actions.at(-1);
    const status = first?.kind === 'updateStatus' ? first.status : undefined;
    expect(status).toEqual({
      replicas: 2,
      fullyLabeledReplicas: 2,
      readyReplicas: 2,
      availableReplicas: 2,
      terminatingReplicas: 0,
      observedGeneration: 2,
    });
    expect(plan(pods, { set: { ...set, ...(status ? { status } : {}) } }).actions).toEqual([]);
  });

  test('the first failure stays as it was reported, whatever fails next', () => {
    const old = { type: 'ReplicaFailure', status: 'True', reason: 'FailedDelete', message: 'first' };
    const other = { type: 'Other', status: 'True' };
    const failing = { ...set, status: { replicas: 1, conditions: [old, other] } };
    const failure = { reason: 'FailedCreate', message: 'second' } as const;
    expect(plan([pod('a')], { set: failing, failure }).actions.at(-1)).toMatchObject({
      status: { conditions: [old, other] },
    });
    expect(plan([pod('a')], { set: failing }).actions.at(-1)).toMatchObject({ status: { conditions: [other] } });
  });

  test('one plan creates or deletes at most 500 pods', () => {
    const many = Array.from({ length: 700 }, (_, i) => pod(`p${i}`));
    const sized = (replicas: number) => ({
      ...set,
      spec: { ...set.spec, selector: { matchLabels: { app: 'a' } }, replicas },
    });
    expect(plan([], { set: sized(700) }).actions).toContainEqual({ kind: 'createPods', count: BURST });
    expect(deleted(many, sized(0))).toHaveLength(BURST);
  });

  test('pods that have ended are replaced, and neither adopted nor released', () => {
    const pods = [
      pod('ended', { phase: 'Failed', ready: false }),
      pod('done', { phase: 'Succeeded', ready: false }),
      pod('lost', { phase: 'Failed', ready: false, labels: { app: 'free' } }),
      pod('orphan', { phase: 'Failed', ready: false, owned: false }),
    ];
    expect(plan(pods).actions.map(({ kind }) => kind)).toEqual(['createPods', 'updateStatus']);
    expect(plan(pods).actions).toContainEqual({ kind: 'createPods', count: 2 });
  });

  test('pods of another controller and of another selector do not count', () => {
    const other: ReplicaSet = { ...set, metadata: { ...set.metadata, name: 'other', uid: 'rs-2' } };
    const pods = [pod('other', { owner: other }), pod('unselected', { owned: false, labels: {} })];
    expect(plan(pods).actions.slice(0, -1)).toEqual([{ kind: 'createPods', count: 2 }]);
  });

  test('pods with all labels of the template are counted as fully labelled', () => {
    const labels = { app: 'a', tier: 'web' };
    const labelled: ReplicaSet = {
      ...set,
      spec: { ...set.spec, selector: { matchLabels: { app: 'a' } }, template: { metadata: { labels } } },
    };
    const pods = [pod('a'), pod('b', { labels: { ...labels, more: 'x' } })];
    expect(plan(pods, { set: labelled }).actions.at(-1)).toMatchObject({
      status: { replicas: 2, fullyLabeledReplicas: 1 },
    });
  });
});

describe('a ReplicationController', () => {
  const old: ReplicationController = {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    metadata: { name: 'old', namespace: 'n', uid: 'rc-1', generation: 1 },
    spec: { replicas: 2, selector: { app: 'a' }, template: { metadata: { labels: { app: 'a' } } } },
  };

  test('selects by its map of labels', () => {
    const pods = [pod('orphan', { owned: false }), pod('other', { owned: false, labels: { app: 'b' } })];
    const { actions } = plan(pods, { set: old });
    expect(actions.slice(0, -1)).toMatchObject([{ kind: 'adopt' }, { kind: 'createPods', count: 1 }]);
  });

  test('does not report terminating pods, which its status has no field for', () => {
    const pods = [pod('a', { owner: old }), pod('b', { owner: old, deleting: true })];
    expect(plan(pods, { set: old }).actions.at(-1)).toEqual({
      kind: 'updateStatus',
      status: { replicas: 1, fullyLabeledReplicas: 1, readyReplicas: 1, availableReplicas: 1, observedGeneration: 1 },
    });
  });
});
