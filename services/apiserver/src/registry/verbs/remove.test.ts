import { expect, it } from 'vitest';
import type { GuardedWrite, ObjectStore } from '../../storage/object-store.ts';
import { createRegistry } from '../create-registry.ts';
import { startHarness, type Harness, patchBody, WRITE } from '../testing.ts';
import { deleteBody, DELETE_AS_USUAL, type Registry } from '../contract/registry.ts';

const NOW = { ...DELETE_AS_USUAL, gracePeriodSeconds: 0 };

/** A registry with a pod. `before` is called before each removal of an object. */
async function createRacing(before: (write: GuardedWrite, store: ObjectStore) => Promise<unknown>): Promise<Racing> {
  const h = await startHarness();
  const { store } = h;
  const racing: ObjectStore = {
    get: (...args) => store.get(...args),
    list: (...args) => store.list(...args),
    currentRevision: (...args) => store.currentRevision(...args),
    watch: (...args) => store.watch(...args),
    requestProgress: () => store.requestProgress(),
    write: async (write, signal) => {
      if (write.value === null) await before(write, store);
      return store.write(write, signal);
    },
  };
  await h.create('serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } });
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a' },
    spec: { containers: [{ name: 'c', image: 'nginx' }] },
  };
  await h.create('pods', pod);
  const registry = createRegistry({ ...h.deps, store: racing });
  return { h, remove: () => h.settle(registry.delete(h.context(), h.target('pods', 'a'), deleteBody(NOW))) };
}

interface Racing {
  readonly h: Harness;
  readonly remove: () => ReturnType<Registry['delete']>;
}

it('a pod that its agent removes between mark and removal is gone all the same', async () => {
  let others = 0;
  const { remove } = await createRacing(async (write, store) => {
    if (++others === 1) await store.write(write, new AbortController().signal);
  });
  expect((await remove()).gone).toBe(true);
  expect(others).toBe(1);
});

it('a pod whose end a controller reports between mark and removal, and which it then removes, is gone all the same', async () => {
  let others = 0;
  const { h, remove } = await createRacing(async (write, store) => {
    others++;
    if (others === 1) {
      const status = Buffer.from(JSON.stringify({ status: { phase: 'Failed' } }));
      const target = h.target('pods', 'a', { subresource: 'status' });
      await h.registry.patch(h.context(), target, patchBody('application/merge-patch+json', status), WRITE);
    } else await store.write(write, new AbortController().signal);
  });
  expect((await remove()).gone).toBe(true);
  expect(others).toBe(2);
});
