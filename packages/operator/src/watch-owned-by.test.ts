import { DEPLOYMENTS, NODES, type Pod, PODS } from '@gantry/objects';
import { expect, it } from 'vitest';
import type { Cache } from '@gantry/controller-runtime';
import { watchOwnedBy } from './watch-owned-by.ts';

const cache = {} as Cache;
const pod = (apiVersion: string, kind: string, controller = true): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'a', ownerReferences: [{ apiVersion, kind, name: 'owner', uid: 'u', controller }] },
});

it('queues the owner that controls an object, in any version of its group', () => {
  const { keys } = watchOwnedBy(DEPLOYMENTS, PODS);
  expect(keys(pod('apps/v1beta1', 'Deployment'), undefined, cache)).toEqual([{ namespace: 'a', name: 'owner' }]);
  expect(keys(pod('example.com/v1', 'Deployment'), undefined, cache)).toEqual([]);
  expect(keys(pod('apps/v1', 'ReplicaSet'), undefined, cache)).toEqual([]);
  expect(keys(pod('apps/v1', 'Deployment', false), undefined, cache)).toEqual([]);
});

it('queues the owner before and the owner after a change', () => {
  const { keys } = watchOwnedBy(DEPLOYMENTS, PODS);
  const before = pod('apps/v1', 'Deployment');
  const after = { ...before, metadata: { ...before.metadata, ownerReferences: [] } };
  expect(keys(after, before, cache)).toEqual([{ namespace: 'a', name: 'owner' }]);
});

it('finds an owner of cluster scope', () => {
  expect(watchOwnedBy(NODES, PODS).keys(pod('v1', 'Node'), undefined, cache)).toEqual([
    { namespace: '', name: 'owner' },
  ]);
});
