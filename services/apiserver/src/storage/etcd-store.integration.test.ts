import { seededRandom, systemClock, systemRandom, systemUid } from '@gantry/base';
import { connectEtcd, prefixEnd } from '@gantry/etcd';
import { type EtcdCluster, startEtcdCluster } from '@gantry/etcd/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createEtcdObjectStore } from './etcd-object-store.ts';
import { reseal } from './reseal.ts';
import { createSealing, fixedKeys, type SealingKey } from './sealing.ts';
import { committed, create, pod } from './testing/store-calls.ts';
import { describeObjectStore } from './testing/store-contract.ts';
import { TEST_SEALING } from './testing/test-sealing.ts';

let cluster: EtcdCluster;

beforeAll(async () => {
  cluster = await startEtcdCluster();
}, 120_000);

afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
});

it('leaves nothing of a Secret readable in a backup, before and after its keys are changed', async () => {
  const [marker, signal] = ['a-marker-that-must-stay-sealed', AbortSignal.timeout(60_000)];
  await using backedUp = await startEtcdCluster({ size: 1 });
  const base = { clock: systemClock, random: systemRandom, newUid: systemUid };
  await using etcd = connectEtcd({ endpoints: backedUp.endpoints, ...base });
  const old: SealingKey = { id: 'old', secret: Buffer.alloc(32, 1) };
  const current: SealingKey = { id: 'current', secret: Buffer.alloc(32, 2) };
  const before = createEtcdObjectStore({ ...base, etcd, sealing: createSealing(fixedKeys([old]), ['secrets']) });
  await committed(before.write(create('/registry/secrets/ns/s', { data: marker }), signal));
  await committed(before.write(create(pod('a'), { data: 'readable' }), signal));
  const sealing = createSealing(fixedKeys([current, old]), ['secrets']);
  const after = createEtcdObjectStore({ ...base, etcd, sealing });
  expect(await reseal({ etcd, store: after, sealing }, signal)).toEqual({ rewritten: 1, kept: 1 });
  const withoutOld = createSealing(fixedKeys([current]), ['secrets']);
  const last = createEtcdObjectStore({ ...base, etcd, sealing: withoutOld });
  expect((await last.get('/registry/secrets/ns/s', signal))?.object['data']).toBe(marker);
  const files = await backedUp.members[0]?.files();
  expect(files?.includes('readable')).toBe(true);
  expect(files?.includes(marker)).toBe(false);
  for (const store of [before, after, last]) await store.close(AbortSignal.timeout(1000));
}, 120_000);

describeObjectStore('the object store over a real etcd', async () => {
  const etcd = connectEtcd({ endpoints: cluster.endpoints, clock: systemClock, random: seededRandom(1) });
  const signal = AbortSignal.timeout(60_000);
  const { kvs } = await etcd.kv.range({ key: '/', rangeEnd: prefixEnd('/'), fields: 'keys' }, { signal });
  for (const { key } of kvs) {
    await etcd.kv.transact({ compare: [], success: [{ kind: 'delete', key }], failure: [] }, { signal });
  }
  return {
    createStore: (options) =>
      createEtcdObjectStore({
        clock: systemClock,
        random: systemRandom,
        newUid: systemUid,
        sealing: TEST_SEALING,
        ...options,
        etcd,
      }),
    kv: etcd.kv,
    compact: (revision) => etcd.maintenance.compact(revision, { signal: AbortSignal.timeout(60_000) }),
    stop: async () => etcd[Symbol.asyncDispose](),
  };
});
