import { afterEach, expect, it } from 'vitest';
import type { ObjectStore } from '../../storage/object-store.ts';
import { createRegistry } from '../create-registry.ts';
import { createHarness, type Harness } from '../testing.ts';
import { deleteBody, DELETE_AS_USUAL } from '../contract/registry.ts';

const NOW = { ...DELETE_AS_USUAL, gracePeriodSeconds: 0 };

let harness: Harness | undefined;
afterEach(async () => {
  await harness?.stop();
});

it('a pod that its agent removes between mark and removal is gone all the same', async () => {
  const h = (harness = await createHarness());
  const { store } = h;
  let others = 0;
  // Another removal precedes each removal.
  const racing: ObjectStore = {
    get: (...args) => store.get(...args),
    list: (...args) => store.list(...args),
    currentRevision: (...args) => store.currentRevision(...args),
    watch: (...args) => store.watch(...args),
    requestProgress: () => store.requestProgress(),
    write: async (write, signal) => {
      if (write.value === null && ++others === 1) await store.write(write, signal);
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
  const deleted = await h.settle(registry.delete(h.context(), h.target('pods', 'a'), deleteBody(NOW)));
  expect(deleted.gone).toBe(true);
  expect(others).toBe(1);
});
