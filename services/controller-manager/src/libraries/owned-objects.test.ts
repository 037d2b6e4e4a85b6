import type { Cache } from '@gantry/controller-runtime';
import {
  controllerReference,
  type KubeObject,
  type Pod,
  PODS,
  REPLICA_SETS,
  type ReplicaSet,
  REPLICATION_CONTROLLERS,
} from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { ownersOf, watchOwned } from './owned-objects.shell.ts';
import { selectorOf } from './ownership.ts';
import { changesCounts } from './pods/pod-state.ts';

const owner = (name: string, labels: Record<string, string>): ReplicaSet => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name, namespace: 'n', uid: name },
  spec: { selector: { matchLabels: labels } },
});
const WEB = owner('web', { app: 'web' });
const DATA = owner('data', { app: 'data' });
const cache = { list: () => [WEB, DATA, owner('all', {})] } as Pick<Cache, 'list'> as Cache;

function pod(change: { owner?: KubeObject; app?: string; node?: string; phase?: string; ready?: boolean } = {}): Pod {
  const { owner: of, app = 'web', node = 'n1', phase = 'Running', ready = false } = change;
  const ownerReferences = of === undefined ? [] : [controllerReference(of)];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'n', labels: { app }, ownerReferences },
    spec: { containers: [], nodeName: node },
    status: { phase, ...(ready ? { conditions: [{ type: 'Ready', status: 'True' }] } : {}) },
  };
}

const queued = (object: Pod | undefined, old: Pod | undefined) =>
  watchOwned(PODS, REPLICA_SETS, { matters: changesCounts })
    .keys(object, old, cache)
    .map((key) => ('name' in key ? key.name : ''));

describe('the owners that a change of a pod queues', () => {
  it.each([
    ['a new pod queues its controller', pod({ owner: WEB, app: 'other' }), undefined, ['web']],
    ['a deleted pod queues its controller', undefined, pod({ owner: WEB }), ['web']],
    ['a new pod without a controller queues those that select it', pod(), undefined, ['web']],
    ['a deleted one without a controller queues none', undefined, pod(), []],
    ['an adopted one queues its controller', pod({ owner: WEB }), pod(), ['web']],
    [
      'a released one queues the owner that it left and those that select it',
      pod({ app: 'data' }),
      pod({ owner: WEB }),
      ['web', 'data'],
    ],
    ['a change of hands queues both', pod({ owner: DATA }), pod({ owner: WEB }), ['web', 'data']],
    ['readiness queues the controller', pod({ owner: WEB, ready: true }), pod({ owner: WEB }), ['web']],
    ['the end queues the controller', pod({ owner: WEB, phase: 'Failed' }), pod({ owner: WEB }), ['web']],
    ['labels queue the controller', pod({ owner: WEB, app: 'x' }), pod({ owner: WEB }), ['web']],
    ['a node queues none', pod({ owner: WEB }), pod({ owner: WEB, node: 'n2' }), []],
    ['a pod without a controller queues none while its labels stay', pod({ ready: true }), pod(), []],
    ['new labels queue those that select them now', pod({ app: 'data' }), pod(), ['data']],
  ])('%s', (_, object, old, expected) => {
    expect(queued(object, old)).toEqual(expected);
  });

  it('are not of another kind than the controller', () => {
    expect(ownersOf(pod({ owner: WEB }), REPLICATION_CONTROLLERS, cache)).toEqual([]);
  });
});

it('reads a selector once for each version of its owner', () => {
  expect(selectorOf(WEB)).toBe(selectorOf(WEB));
  expect(selectorOf({ ...WEB })).not.toBe(selectorOf(WEB));
});
