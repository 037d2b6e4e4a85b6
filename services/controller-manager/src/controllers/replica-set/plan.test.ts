import { readFileSync } from 'node:fs';
import { formatTime } from '@gantry/base';
import { controllerReference, type Pod, type ReplicaSet, type ReplicationController } from '@gantry/objects';
import { describe, expect, test } from 'vitest';
import { type Action, BURST, type ObservedPodSet, planReplicaSet } from './plan.ts';
import type { PodSet } from './status.ts';

interface PodCase {
  readonly name: string;
  readonly labels?: Record<string, string>;
  /** The controller of the pod. When absent, it is the set. */
  readonly owner?: 'none' | 'other';
  readonly ready?: boolean;
  readonly readySeconds?: number;
  readonly node?: string;
  readonly cost?: string;
  readonly deleting?: boolean;
  readonly phase?: string;
}

interface Case {
  readonly name: string;
  readonly kind?: 'ReplicationController';
  readonly replicas?: number;
  readonly minReadySeconds?: number;
  readonly templateLabels?: Record<string, string>;
  readonly deleting?: boolean;
  readonly pods: readonly PodCase[];
  readonly want: {
    readonly actions: readonly string[];
    /** Part of the status that is written. */
    readonly status?: object;
    readonly againInMs?: number;
  };
}

const CASES = JSON.parse(readFileSync(new URL('cases.json', import.meta.url), 'utf8')) as readonly Case[];
const NOW = Date.parse('2026-01-01T00:10:00Z');

const set: ReplicaSet = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: 'set', namespace: 'n', uid: 'rs-1', generation: 2 },
  spec: { replicas: 2, selector: { matchLabels: { app: 'a' } }, template: { metadata: { labels: { app: 'a' } } } },
};

const controller: ReplicationController = {
  apiVersion: 'v1',
  kind: 'ReplicationController',
  metadata: { name: 'old', namespace: 'n', uid: 'rc-1', generation: 1 },
  spec: { replicas: 2, selector: { app: 'a' }, template: { metadata: { labels: { app: 'a' } } } },
};

const OTHER: ReplicaSet = { ...set, metadata: { ...set.metadata, name: 'other', uid: 'rs-2' } };

function setOf({ kind, replicas = 2, minReadySeconds, templateLabels, deleting = false }: Case): PodSet {
  const change = {
    replicas,
    ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
    ...(templateLabels === undefined ? {} : { template: { metadata: { labels: templateLabels } } }),
  };
  const deletion = deleting ? { deletionTimestamp: formatTime(NOW) } : {};
  if (kind === 'ReplicationController') {
    return {
      ...controller,
      metadata: { ...controller.metadata, ...deletion },
      spec: { ...controller.spec, ...change },
    };
  }
  const selector = { matchLabels: { app: 'a' } };
  return { ...set, metadata: { ...set.metadata, ...deletion }, spec: { ...set.spec, selector, ...change } };
}

function pod(name: string, change: Omit<PodCase, 'name'> = {}, of: PodSet = set): Pod {
  const {
    labels = { app: 'a' },
    owner,
    ready = true,
    node = 'node',
    cost,
    deleting = false,
    readySeconds = 60,
  } = change;
  const phase = change.phase ?? (ready ? 'Running' : 'Pending');
  const lastTransitionTime = formatTime(NOW - readySeconds * 1000);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      uid: name,
      namespace: 'n',
      labels,
      ...(owner === 'none' ? {} : { ownerReferences: [controllerReference(owner === 'other' ? OTHER : of)] }),
      ...(cost === undefined ? {} : { annotations: { 'controller.kubernetes.io/pod-deletion-cost': cost } }),
      ...(deleting ? { deletionTimestamp: formatTime(NOW) } : {}),
      creationTimestamp: formatTime(NOW - 120_000),
    },
    spec: { containers: [], nodeName: node },
    status: ready ? { phase, conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] } : { phase },
  };
}

function plan(pods: readonly Pod[], change: Partial<ObservedPodSet> = {}) {
  return planReplicaSet({ set, pods, relatedPods: pods, failure: undefined, ...change }, NOW);
}

const deleted = (pods: readonly Pod[], of: PodSet = set) =>
  plan(pods, { set: of }).actions.flatMap((action) => (action.kind === 'deletePod' ? [action.pod.metadata.name] : []));

function describeAction(action: Action): string {
  switch (action.kind) {
    case 'createPods':
      return `create ${action.count}`;
    case 'deletePod':
      return `delete ${action.pod.metadata.name ?? ''}${action.asSeen ? ' as seen' : ''}`;
    case 'updateStatus':
      return 'status';
    default:
      return `${action.kind} ${action.pod.metadata.name ?? ''}`;
  }
}

describe('planReplicaSet', () => {
  test.each(CASES)('$name', (one) => {
    const of = setOf(one);
    const pods = one.pods.map(({ name, ...rest }) => pod(name, rest, of));
    const { actions, requeueAt } = plan(pods, { set: of });
    expect(actions.map(describeAction)).toEqual(one.want.actions);
    const status = actions.flatMap((action) => (action.kind === 'updateStatus' ? [action.status] : []))[0];
    expect(status).toMatchObject(one.want.status ?? {});
    expect(requeueAt).toBe(one.want.againInMs === undefined ? undefined : NOW + one.want.againInMs);
    // The status is written only once.
    const after = { ...of, ...(status === undefined ? {} : { status }) };
    expect(plan(pods, { set: after }).actions.map(describeAction)).toEqual(
      one.want.actions.filter((action) => action !== 'status'),
    );
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
});

describe('a ReplicationController', () => {
  test('does not report terminating pods, which its status has no field for', () => {
    const pods = [pod('a', {}, controller), pod('b', { deleting: true }, controller)];
    expect(plan(pods, { set: controller }).actions.at(-1)).toEqual({
      kind: 'updateStatus',
      status: { replicas: 1, fullyLabeledReplicas: 1, readyReplicas: 1, availableReplicas: 1, observedGeneration: 1 },
    });
  });
});
