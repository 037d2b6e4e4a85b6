import { beforeEach, describe, expect, it } from 'vitest';
import { createRegistry } from '../create-registry.ts';
import { type ObjectStore, StoreError } from '../../storage/object-store.ts';
import { startHarness, type Harness, jsonBody, WRITE } from '../testing.ts';

const SERVICE = { apiVersion: 'v1', kind: 'Service', metadata: { name: 's' }, spec: { ports: [{ port: 80 }] } };
const never = new AbortController().signal;

describe('the claims of a write', () => {
  let h: Harness;
  beforeEach(async () => {
    h = await startHarness();
  });

  /** Creates a Service. `end` determines how its write ends after the claims. */
  const createWith = (end: (store: ObjectStore, write: () => ReturnType<ObjectStore['write']>) => Promise<never>) => {
    const store: ObjectStore = {
      get: (key, signal) => h.store.get(key, signal),
      list: (prefix, options, signal) => h.store.list(prefix, options, signal),
      watch: (revision, signal) => h.store.watch(revision, signal),
      requestProgress: () => h.store.requestProgress(),
      currentRevision: (signal) => h.store.currentRevision(signal),
      write: (write, signal) => {
        const commit = () => h.store.write(write, signal);
        return write.key.startsWith('/registry/services/') ? end(h.store, commit) : commit();
      },
    };
    const registry = createRegistry({ ...h.deps, store });
    return h.settle(registry.create(h.context(), h.target('services', ''), jsonBody(SERVICE), WRITE));
  };
  const claims = async () => (await h.settle(h.store.list('/gantry/allocations/', {}, never))).objects.length;

  it('are released when it is known to have failed', async () => {
    const failed = () => Promise.reject(new StoreError('unavailable', 'no member answers'));
    await expect(createWith(failed)).rejects.toMatchObject({ reason: 'ServiceUnavailable' });
    expect(await claims()).toBe(0);
  });

  it('stay when its outcome is unknown: it may be committed later', async () => {
    const late: (() => unknown)[] = [];
    const unknown = (_store: ObjectStore, write: () => unknown) => {
      late.push(write);
      return Promise.reject(new StoreError('outcome-unknown', 'no answer'));
    };
    await expect(createWith(unknown)).rejects.toMatchObject({ reason: 'Timeout' });
    expect(await claims()).toBe(1);
    // The late copy of the write arrives. The Service still has its address.
    await h.settle(Promise.resolve(late[0]?.()));
    const stored = await h.settle(h.store.get('/registry/services/n/s', never));
    expect(stored?.object).toMatchObject({ spec: { clusterIP: expect.any(String) } });
  });
});
