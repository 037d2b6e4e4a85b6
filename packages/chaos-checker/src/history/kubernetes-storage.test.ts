import { expect, test } from 'vitest';
import type { EtcdEvent } from '../artifacts.ts';
import { World } from './world.ts';

const SOURCE = { file: 'etcd/etcd-0.jsonl', line: 1 };

function put(key: string, revision: number, value: unknown, version = 1): EtcdEvent {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const created = revision - version + 1;
  return {
    type: 'put',
    key,
    value: Buffer.from(text).toString('base64'),
    createRevision: created,
    modRevision: revision,
    version,
  };
}

const object = (apiVersion: string, name: string, namespace?: string) => ({
  apiVersion,
  kind: 'Any',
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
});

function world(): World {
  return new World({ clusterId: 'k', incarnation: '', options: {}, storage: 'kubernetes' });
}

test.each([
  ['/registry/configmaps/n/a', object('v1', 'a', 'n'), '/registry/configmaps/n/a', 'configmaps'],
  ['/registry/minions/a', object('v1', 'a'), '/registry/nodes/a', 'nodes'],
  ['/registry/services/specs/n/a', object('v1', 'a', 'n'), '/registry/services/n/a', 'services'],
  ['/registry/services/endpoints/n/a', object('v1', 'a', 'n'), '/registry/endpoints/n/a', 'endpoints'],
  [
    '/registry/leases/n/a',
    object('coordination.k8s.io/v1', 'a', 'n'),
    '/registry/coordination.k8s.io/leases/n/a',
    'coordination.k8s.io/leases',
  ],
  [
    '/registry/chaos.gantry.dev/helds/n/a',
    object('chaos.gantry.dev/v1', 'a', 'n'),
    '/registry/chaos.gantry.dev/helds/n/a',
    'chaos.gantry.dev/helds',
  ],
])('%s is an object of the API', (stored, value, key, resource) => {
  const here = world();
  const { changes } = here.applyRevision(7, 1, [put(stored, 7, value)], SOURCE);
  expect(changes).toMatchObject([{ key, resource, name: 'a', resourceVersion: 7, before: undefined }]);
  const gone = here.applyRevision(9, 2, [{ type: 'delete', key: stored, modRevision: 9 }], SOURCE);
  expect(gone.changes).toMatchObject([{ key, resource, resourceVersion: 9, after: undefined }]);
  expect(here.objects.size).toBe(0);
  expect(here.problems).toEqual([]);
});

test.each([
  ['/registry/masterleases/10.0.0.1', object('v1', '10.0.0.1')],
  ['/registry/ranges/serviceips', { apiVersion: 'v1', kind: 'RangeAllocation', metadata: {} }],
  ['/registry/health', 'true'],
])('%s is none', (key, value) => {
  const here = world();
  expect(here.applyRevision(7, 1, [put(key, 7, value)], SOURCE).changes).toEqual([]);
  expect(here.problems).toEqual([]);
});

test.each(['k8s\u0000', Buffer.from([0xd9, 0xd9, 0xf7])])('a binary value makes the run unusable', (value) => {
  const here = world();
  const bytes = Buffer.from(value).toString('base64');
  const event = { ...put('/registry/configmaps/n/a', 7, ''), value: bytes } as EtcdEvent;
  here.applyRevision(7, 1, [event], SOURCE);
  expect(here.problems).toEqual([expect.stringContaining('the API server needs --storage-media-type')]);
});
