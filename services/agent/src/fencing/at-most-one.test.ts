import type { PersistentVolumeClaim, Pod } from '@gantry/objects';
import { expect, it } from 'vitest';
import { AtMostOne } from './at-most-one.ts';

const { signal } = new AbortController();
const claimed = (accessMode: string): PersistentVolumeClaim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: {},
  spec: { accessModes: [accessMode] },
});
const pod = (change: Partial<Pod['metadata']>, claimName?: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { uid: 'u', namespace: 'n', name: 'p', ...change },
  spec: {
    containers: [],
    ...(claimName === undefined ? {} : { volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }] }),
  },
});
const owner = (apiVersion: string, kind: string, controller = true) => ({
  ownerReferences: [{ apiVersion, kind, name: 'o', uid: 'o', controller }],
});
const state = { owner: { cluster: 'c', node: 'n' }, identity: { uid: 'u', namespace: 'n', name: 'p' } };
const EMPTY = { graceSeconds: 0, sandboxes: [], containers: [], imageHolds: [] };

it.each([
  ['a pod of a StatefulSet', pod(owner('apps/v1', 'StatefulSet')), 'at-most-one'],
  ['a pod of a ReplicaSet', pod(owner('apps/v1', 'ReplicaSet')), 'any'],
  ['a pod of a StatefulSet of another group', pod(owner('example.com/v1', 'StatefulSet')), 'any'],
  ['a pod that a StatefulSet owns and does not control', pod(owner('apps/v1', 'StatefulSet', false)), 'any'],
  ['a pod with a ReadWriteOncePod claim', pod({}, 'once'), 'at-most-one'],
  ['a pod with another claim', pod({}, 'shared'), 'any'],
])('%s', async (_, given, instances) => {
  const claims = { once: claimed('ReadWriteOncePod'), shared: claimed('ReadWriteOnce') };
  const found = new AtMostOne({ claim: async (_namespace, name) => claims[name as keyof typeof claims] });
  expect(await found.judge(given, undefined, signal)).toBe(instances);
  expect(found.of('u')).toBe(instances);
});

it('reads a claim again until it exists, and then no more', async () => {
  const claims: PersistentVolumeClaim[] = [];
  let reads = 0;
  const found = new AtMostOne({
    claim: async () => {
      reads += 1;
      return claims[0];
    },
  });
  expect(await found.judge(pod({}, 'late'), undefined, signal)).toBe('any');
  claims.push(claimed('ReadWriteOncePod'));
  expect(await found.judge(pod({}, 'late'), undefined, signal)).toBe('at-most-one');
  expect(await found.judge(pod({}, 'late'), undefined, signal)).toBe('at-most-one');
  expect(reads).toBe(2);
});

it('knows a pod without an object by the labels of its containers', async () => {
  const found = new AtMostOne({ claim: () => Promise.reject(new Error('the API does not respond')) });
  expect(await found.judge(undefined, { ...state, ...EMPTY, instances: 'at-most-one' }, signal)).toBe('at-most-one');
  expect(await found.judge(undefined, { ...state, ...EMPTY }, signal)).toBe('any');
});
