import { beforeEach, expect, it } from 'vitest';
import { DELETE_AS_USUAL, deleteBody } from '../contract/registry.ts';
import { startHarness, type Harness } from '../testing.ts';

const KEY = '/gantry/recounts/n/q';
const { signal } = new AbortController();

let h: Harness;
beforeEach(async () => {
  h = await startHarness();
});

it('the mark of the recounts of a quota goes with the quota', async () => {
  const mark = { key: KEY, expected: 'absent', value: Buffer.from('{"metadata":{}}') } as const;
  await h.settle(h.store.write({ ...mark, writer: { name: 'test' } }, signal));
  const create = (resource: string, kind: string, more: object) =>
    h.create(resource, { apiVersion: 'v1', kind, metadata: { name: 'q' }, ...more });
  await create('configmaps', 'ConfigMap', {});
  await create('resourcequotas', 'ResourceQuota', { spec: { hard: { pods: '1' } } });
  const remove = (resource: string) =>
    h.settle(h.registry.delete(h.context(), h.target(resource, 'q'), deleteBody(DELETE_AS_USUAL)));
  await remove('configmaps');
  expect(await h.settle(h.store.get(KEY, signal))).not.toBeNull();
  await remove('resourcequotas');
  expect(await h.settle(h.store.get(KEY, signal))).toBeNull();
});
