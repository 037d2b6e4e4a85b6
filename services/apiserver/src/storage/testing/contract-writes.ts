import { parseJson } from '@gantry/apimachinery';
import { patiently } from '@gantry/etcd/testing';
import type { JsonObject } from '@gantry/objects';
import { expect, it } from 'vitest';
import type { ResourceVersion } from '../object-store.ts';
import { revisionOf } from '../keys.ts';
import { committed, create, pod, remove, signal, update } from './store-calls.ts';
import type { Context } from './store-fixture.ts';

const NAMESPACE = '/registry/namespaces/ns';

/** Writes: guards, conflicts, groups, sealed objects. */
export function describeWrites(context: Context): void {
  it('creates what is absent and gives it a version that a read gives back', async () => {
    const { store } = context();
    const version = await committed(store.write(create(pod('a'), { spec: 1 }), signal()));
    const stored = await store.get(pod('a'), signal());
    expect(stored?.resourceVersion).toBe(version);
    expect(stored?.object).toEqual({ spec: 1, metadata: { name: 'a', resourceVersion: String(version) } });
  });

  it('keeps every digit of whole numbers that a double cannot hold', async () => {
    const { store } = context();
    const num = parseJson('{"least":-9223372036854775808,"most":9223372036854775807,"small":1}') as JsonObject;
    await committed(store.write(create(pod('a'), { num }), signal()));
    expect((await store.get(pod('a'), signal()))?.object['num']).toEqual(num);
  });

  it('answers a conflict with what is stored now', async () => {
    const { store } = context();
    const version = await committed(store.write(create(pod('a')), signal()));
    const again = await store.write(create(pod('a')), signal());
    expect(again).toMatchObject({ kind: 'conflict', current: { key: pod('a'), resourceVersion: version } });
    const gone = await store.write(update(pod('b'), version), signal());
    expect(gone).toEqual({ kind: 'conflict', current: null });
  });

  it('updates and deletes only the version that was read', async () => {
    const { store } = context();
    const first = await committed(store.write(create(pod('a')), signal()));
    const second = await committed(store.write(update(pod('a'), first, { spec: 2 }), signal()));
    expect(second).toBeGreaterThan(first);
    expect((await store.write(remove(pod('a'), first), signal())).kind).toBe('conflict');
    const third = await committed(store.write(remove(pod('a'), second), signal()));
    expect(third).toBeGreaterThan(second);
    expect(await store.get(pod('a'), signal())).toBeNull();
  });

  it('names a key that is not as it was read', async () => {
    const { store } = context();
    const read = await committed(store.write(create(NAMESPACE), signal()));
    const write = { ...create(pod('a')), unchanged: [{ key: NAMESPACE, resourceVersion: read }] };
    const changed = await committed(store.write(update(NAMESPACE, read), signal()));
    expect(await store.write(write, signal())).toEqual({ kind: 'stale', key: NAMESPACE });
    const now = { ...write, unchanged: [{ key: NAMESPACE, resourceVersion: changed }] };
    await committed(store.write(now, signal()));
    await committed(store.write(remove(NAMESPACE, changed), signal()));
    expect(await store.write({ ...now, ...create(pod('b')) }, signal())).toEqual({ kind: 'stale', key: NAMESPACE });
  });

  it('stores one of two writes at the same moment that each need the other not to be stored', async () => {
    const { store } = context();
    for (let round = 0; round < 5; round++) {
      const [one, other] = [pod(`one${round}`), pod(`other${round}`)];
      const outcomes = await Promise.all([
        store.write({ ...create(one), unchanged: [{ key: other, resourceVersion: 'absent' }] }, signal()),
        store.write({ ...create(other), unchanged: [{ key: one, resourceVersion: 'absent' }] }, signal()),
      ]);
      expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['committed', 'stale']);
    }
  });

  it('names a key that is there and was not', async () => {
    const { store } = context();
    const write = { ...create(pod('a')), unchanged: [{ key: NAMESPACE, resourceVersion: 'absent' as const }] };
    const version = await committed(store.write(create(NAMESPACE), signal()));
    expect(await store.write(write, signal())).toEqual({ kind: 'stale', key: NAMESPACE });
    await committed(store.write(remove(NAMESPACE, version), signal()));
    await committed(store.write(write, signal()));
    // The conflict is with the object itself, not with the key that must be absent.
    expect(await store.write(write, signal())).toMatchObject({ kind: 'conflict', current: { key: pod('a') } });
  });

  it('leaves nothing of a Secret readable in etcd, and gives it back as it was written', async () => {
    const { fixture, store } = context();
    const marker = 'a-marker-that-must-stay-sealed';
    const secret = '/registry/secrets/ns/s';
    const first = await committed(store.write(create(secret, { data: marker }), signal()));
    const second = await committed(store.write(update(secret, first, { data: `${marker}2` }), signal()));
    const conflict = await store.write(create(secret, { data: marker }), signal());
    expect(conflict).toMatchObject({ kind: 'conflict', current: { object: { data: `${marker}2` } } });
    await committed(store.write(create(pod('a'), { data: 'plain' }), signal()));
    expect((await store.get(secret, signal()))?.object['data']).toBe(`${marker}2`);
    expect((await store.list('/registry/secrets/', {}, signal())).objects[0]?.object['data']).toBe(`${marker}2`);
    for await (const item of store.watch(revisionOf(first) - 1, signal())) {
      const events = (item.kind === 'events' ? item.events : []).filter(({ key }) => key === secret);
      for (const event of events)
        expect(event).toMatchObject({ object: { data: expect.stringContaining(marker) as string } });
      if (events.some(({ resourceVersion }) => resourceVersion === second)) break;
    }
    for (const revision of [revisionOf(first), revisionOf(second)]) {
      const all = await fixture.kv.range({ key: '/', rangeEnd: '0', revision }, patiently());
      expect(all.kvs.map(({ key }) => key)).toContain(secret);
      for (const { value } of all.kvs) expect(Buffer.from(value).includes(marker)).toBe(false);
    }
    const [plain] = (await fixture.kv.range({ key: pod('a') }, patiently())).kvs;
    expect(Buffer.from(plain?.value ?? []).includes('plain')).toBe(true);
  });

  it('gives every write of a group its own result', async () => {
    const { store } = context();
    const taken = await committed(store.write(create(pod('taken')), signal()));
    const keys = Array.from({ length: 100 }, (_, i) => (i % 10 === 3 ? pod('taken') : pod(`w${i}`)));
    const outcomes = await Promise.all(keys.map((key) => store.write(create(key), signal())));
    const versions = new Set<ResourceVersion>();
    for (const [i, outcome] of outcomes.entries()) {
      if (i % 10 === 3) expect(outcome).toMatchObject({ kind: 'conflict', current: { resourceVersion: taken } });
      else versions.add(await committed(Promise.resolve(outcome)));
    }
    expect(versions.size).toBe(90);
    for (const [i, key] of keys.entries()) {
      const stored = await store.get(key, signal());
      if (i % 10 !== 3) expect(versions).toContain(stored?.resourceVersion);
    }
  });

  it('lets exactly one of many writers win a version', async () => {
    const { fixture, store } = context();
    const other = fixture.createStore();
    let version = await committed(store.write(create(pod('a')), signal()));
    for (let round = 0; round < 5; round++) {
      const writers = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? store : other));
      const outcomes = await Promise.all(
        writers.map((writer, i) => writer.write(update(pod('a'), version, { round, i }), signal())),
      );
      const winners = outcomes.filter((outcome) => outcome.kind === 'committed');
      expect(winners).toHaveLength(1);
      version = winners[0]?.kind === 'committed' ? winners[0].resourceVersion : 0;
    }
    await other.close(AbortSignal.timeout(30_000));
  });

  it('sends a write that is larger than a group alone', async () => {
    const { store } = context();
    const text = 'x'.repeat(1_200_000);
    const writes = [create(pod('big'), { text }), ...Array.from({ length: 5 }, (_, i) => create(pod(`small${i}`)))];
    const outcomes = await Promise.all(writes.map((write) => store.write(write, signal())));
    for (const outcome of outcomes) expect(outcome.kind).toBe('committed');
    const [big, small] = outcomes;
    if (big?.kind !== 'committed' || small?.kind !== 'committed') return;
    expect(revisionOf(big.resourceVersion)).not.toBe(revisionOf(small.resourceVersion));
  });

  it('refuses a write whose deadline has passed without sending it', async () => {
    const { store } = context();
    const gone = AbortSignal.abort();
    await expect(store.write(create(pod('a')), gone)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await store.get(pod('a'), signal())).toBeNull();
  });
}
