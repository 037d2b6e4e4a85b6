import { MemoryEtcd } from '@gantry/etcd/testing';
import { expect, it } from 'vitest';
import { createMemoryObjectStore } from './testing/memory-store.ts';
import { pod } from './testing/store-calls.ts';

it('gives up reads that wait for etcd, and not those that come afterwards', async () => {
  const etcd = new MemoryEtcd();
  const answered = etcd.range.bind(etcd);
  etcd.range = () => new Promise(() => undefined);
  const store = createMemoryObjectStore({ etcd });
  const { signal } = new AbortController();
  const waiting = [store.get(pod('a'), signal), store.list('/registry/', {}, signal), store.currentRevision(signal)];
  // The revision is asked for in the next turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  store.giveUpReads();
  for (const one of waiting)
    await expect(one).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('etcd did not') });
  etcd.range = answered;
  expect(await store.get(pod('a'), signal)).toBeNull();
  expect(await store.currentRevision(signal)).toBeGreaterThan(0);
});
