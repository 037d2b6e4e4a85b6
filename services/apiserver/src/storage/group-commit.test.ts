import { ManualClock } from '@gantry/base/testing';
import { EtcdError, type Transaction } from '@gantry/etcd';
import { expect, it } from 'vitest';
import { createMemoryObjectStore } from './testing/memory-store.ts';
import { create, pod } from './testing/store-calls.ts';

/** Maximum number of waiting writes. */
const WAITING = 20_000;

it('refuses writes beyond those that may wait', async () => {
  const store = createMemoryObjectStore();
  store.etcd.injectFault({ kind: 'late', held: () => undefined });
  const signal = new AbortController().signal;
  let settled = 0;
  const waiting = Array.from({ length: WAITING }, (_, index) =>
    store.write(create(pod(`waiting-${index}`)), signal).catch(() => settled++),
  );
  const refused = store.write(create(pod('refused')), signal);
  await expect(refused).rejects.toThrow('too many writes are waiting');
  expect(settled).toBe(0);
  await store.close(AbortSignal.abort());
  await Promise.all(waiting);
  expect(await store.get(pod('refused'), signal)).toBeNull();
});

it('never sends a write whose deadline passed while it waited', async () => {
  const store = createMemoryObjectStore({ lanes: 2 });
  const signal = new AbortController().signal;
  const held: (() => unknown)[] = [];
  const isGroup = ({ success }: Transaction) => success.some(({ kind }) => kind === 'transaction');
  const first: Promise<unknown>[] = [];
  for (const name of ['a', 'b']) {
    const arrived = Promise.withResolvers<void>();
    const hold = (land: () => unknown) => {
      held.push(land);
      arrived.resolve();
    };
    store.etcd.injectFault({ kind: 'late', held: hold }, isGroup);
    first.push(store.write(create(pod(name)), signal));
    await arrived.promise;
  }
  // Both lanes are busy, so this write is not sent.
  const deadline = new AbortController();
  const late = store.write(create(pod('late')), deadline.signal);
  deadline.abort();
  await expect(late).rejects.toMatchObject({ code: 'unavailable' });
  for (const land of held) land();
  await Promise.all(first);
  await store.write(create(pod('next')), signal);
  expect(await store.get(pod('next'), signal)).not.toBeNull();
  expect(await store.get(pod('late'), signal)).toBeNull();
});

it('gives up writes that have waited for long, and not those that have just come', async () => {
  const clock = new ManualClock();
  const store = createMemoryObjectStore({ lanes: 2, clock });
  const signal = new AbortController().signal;
  const error = new EtcdError('outcome-unknown', 'no answer');
  for (let attempt = 0; attempt < 1000; attempt++) store.etcd.injectFault({ kind: 'error', error });
  const sent: Promise<unknown>[] = [];
  for (const name of ['a', 'b']) {
    sent.push(store.write(create(pod(name)), signal));
    await clock.advance(100);
  }
  const queued = store.write(create(pod('queued')), signal);
  await clock.advance(5000);
  const late = store.write(create(pod('late')), signal);
  const ends = Promise.allSettled([...sent, queued, late]);
  store.giveUpWrites(5000);
  for (const one of sent) await expect(one).rejects.toMatchObject({ code: 'outcome-unknown' });
  await expect(queued).rejects.toMatchObject({ code: 'unavailable' });
  await store.close(AbortSignal.abort());
  // The store has refused it at its end.
  await expect(late).rejects.toThrow('the store is closing');
  await ends;
});
