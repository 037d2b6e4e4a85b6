import { ManualClock } from '@gantry/base/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { createMemoryObjectStore, type MemoryObjectStore } from '../storage/testing/memory-store.ts';
import type { GuardedWrite, ObjectStore } from '../storage/object-store.ts';
import { ADDRESSES, Claims } from './claims.ts';

const KEY = `${ADDRESSES}10.96.0.7`;
const A = { namespace: 'n', name: 'a', uid: 'uid-a' };
const B = { namespace: 'n', name: 'b', uid: 'uid-b' };
const TAKE = { orphans: 'taken-over' } as const;
const signal = new AbortController().signal;

describe('claims', () => {
  let clock: ManualClock;
  let store: MemoryObjectStore;
  let claims: Claims;
  /** Called just before each write of a claim. */
  let meanwhile: (write: GuardedWrite) => Promise<void>;
  beforeEach(() => {
    clock = new ManualClock();
    store = createMemoryObjectStore({ clock });
    meanwhile = () => Promise.resolve();
    const overtaken: ObjectStore = {
      get: (key, abort) => store.get(key, abort),
      list: (prefix, options, abort) => store.list(prefix, options, abort),
      watch: (revision, abort) => store.watch(revision, abort),
      requestProgress: () => store.requestProgress(),
      currentRevision: (abort) => store.currentRevision(abort),
      write: async (write, abort) => {
        await meanwhile(write);
        return store.write(write, abort);
      },
    };
    claims = new Claims(overtaken, clock, ({ spec }, key) => key === `${ADDRESSES}${spec?.clusterIP ?? ''}`);
  });

  const settled = async <T>(work: Promise<T>): Promise<T> => {
    await clock.advance(120_000);
    return work;
  };
  const storeService = async ({ namespace, name, uid }: typeof A, clusterIP: string) => {
    const key = `/registry/services/${namespace}/${name}`;
    const expected = (await store.get(key, signal))?.resourceVersion ?? 'absent';
    const object = { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace, uid }, spec: { clusterIP } };
    const value = new TextEncoder().encode(JSON.stringify(object));
    const write = { key, expected, value, writer: { name: 'test' } } as const;
    expect(await settled(store.write(write, signal))).toMatchObject({ kind: 'committed' });
  };
  const claim = async (owner: typeof A) => (await settled(claims.claim(KEY, owner, TAKE, signal))).kind;
  const isThere = async () => (await store.get(KEY, signal)) !== null;

  it('belong to one owner while its Service needs them', async () => {
    expect(await claim(A)).toBe('created');
    expect(await claim(A)).toBe('held');
    await storeService(A, '10.96.0.7');
    expect(await claim(B)).toBe('taken');
  });

  it('are taken over when no Service needs them for long', async () => {
    expect(await claim(A)).toBe('created');
    expect(await claim(B)).toBe('created');
    expect(await claim(A)).toBe('created');
    await storeService(A, '10.96.0.8');
    expect(await claim(B)).toBe('created');
  });

  it('are not released by another owner, nor while their Service needs them', async () => {
    await claim(A);
    await claims.release(KEY, B, signal);
    expect(await isThere()).toBe(true);
    await storeService(A, '10.96.0.7');
    await claims.release(KEY, A, signal);
    expect(await isThere()).toBe(true);
    await storeService(A, '10.96.0.8');
    await claims.release(KEY, A, signal);
    expect(await isThere()).toBe(false);
  });

  it('are not released while a write of their Service comes to need them', async () => {
    await claim(A);
    await storeService(A, '');
    let acted: 'no' | 'yes' = 'no';
    meanwhile = async ({ value }) => {
      if (acted === 'yes' || value !== null) return;
      acted = 'yes';
      await storeService(A, '10.96.0.7');
    };
    await claims.release(KEY, A, signal);
    expect(acted).toBe('yes');
    expect(await isThere()).toBe(true);
  });
});
