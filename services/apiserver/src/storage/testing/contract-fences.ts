import { patiently } from '@gantry/etcd/testing';
import { expect, it } from 'vitest';
import type { GuardedWrite } from '../object-store.ts';
import { INCARNATION_KEY, revisionOf } from '../keys.ts';
import { committed, create, pod, putKey, remove, removeKey, signal } from './store-calls.ts';
import type { Context } from './store-fixture.ts';

const ELECTION = '/gantry/elections/kube-scheduler';

/** Writes of elected leaders. */
export function describeFences(context: Context): void {
  const lead = async (): Promise<number> => {
    const { kv } = context().fixture;
    await putKey(kv, INCARNATION_KEY, 'one');
    await removeKey(kv, ELECTION);
    return putKey(kv, ELECTION, 'leader');
  };
  const fenced = (write: GuardedWrite, epoch: number, incarnation = 'one'): GuardedWrite => ({
    ...write,
    writer: { name: 'system:kube-scheduler', fence: { electionKey: ELECTION, epoch, incarnation } },
  });

  it('lets the leader of the epoch write, and no leader of an older one', async () => {
    const { store } = context();
    const old = await lead();
    await committed(store.write(fenced(create(pod('a')), old), signal()));
    const now = await lead();
    expect(await store.write(fenced(create(pod('b')), old), signal())).toEqual({ kind: 'fenced' });
    await committed(store.write(fenced(create(pod('b')), now), signal()));
  });

  it('tells a lost fence from a conflict', async () => {
    const { store } = context();
    const epoch = await lead();
    await committed(store.write(create(pod('a')), signal()));
    expect((await store.write(fenced(create(pod('a')), epoch), signal())).kind).toBe('conflict');
    expect((await store.write(fenced(create(pod('a')), epoch + 1), signal())).kind).toBe('fenced');
  });

  it('refuses an epoch of another incarnation', async () => {
    const { store } = context();
    const epoch = await lead();
    expect(await store.write(fenced(create(pod('a')), epoch, 'two'), signal())).toEqual({ kind: 'fenced' });
  });

  it('refuses everything once the leader is gone', async () => {
    const { fixture, store } = context();
    const epoch = await lead();
    await removeKey(fixture.kv, ELECTION);
    expect(await store.write(fenced(create(pod('a')), epoch), signal())).toEqual({ kind: 'fenced' });
  });

  it('records who deleted, and in which epoch, in the same revision', async () => {
    const { fixture, store } = context();
    const epoch = await lead();
    const version = await committed(store.write(create(pod('a')), signal()));
    const deleted = await committed(store.write(fenced(remove(pod('a'), version), epoch), signal()));
    const record = await fixture.kv.range({ key: `/gantry/deleted${pod('a')}` }, patiently());
    expect(record.kvs[0]?.modRevision).toBe(revisionOf(deleted));
    expect(JSON.parse(Buffer.from(record.kvs[0]?.value ?? []).toString())).toMatchObject({
      electionKey: ELECTION,
      epoch,
      incarnation: 'one',
    });
  });

  it('lets a stale write land when the fence compare is left out: it is the compare that protects', async () => {
    const { fixture } = context();
    const unprotected = fixture.createStore({ leaveOutForTest: ['fence'] });
    const old = await lead();
    await lead();
    await committed(unprotected.write(fenced(create(pod('a')), old), signal()));
    await unprotected.close(AbortSignal.timeout(30_000));
  });
}
