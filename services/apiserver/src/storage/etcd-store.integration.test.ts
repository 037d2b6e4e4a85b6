import { seededRandom, systemClock, systemRandom, systemUid } from '@gantry/base';
import { connectEtcd, prefixEnd } from '@gantry/etcd';
import { type EtcdCluster, startEtcdCluster } from '@gantry/etcd/testing';
import { afterAll, beforeAll } from 'vitest';
import { createEtcdObjectStore } from './etcd-object-store.ts';
import { describeObjectStore } from './testing/store-contract.ts';

let cluster: EtcdCluster;

beforeAll(async () => {
  cluster = await startEtcdCluster();
}, 120_000);

afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
});

describeObjectStore('the object store over a real etcd', async () => {
  const etcd = connectEtcd({ endpoints: cluster.endpoints, clock: systemClock, random: seededRandom(1) });
  const signal = AbortSignal.timeout(60_000);
  const { kvs } = await etcd.kv.range({ key: '/', rangeEnd: prefixEnd('/'), fields: 'keys' }, { signal });
  for (const { key } of kvs) {
    await etcd.kv.transact({ compare: [], success: [{ kind: 'delete', key }], failure: [] }, { signal });
  }
  return {
    createStore: (options) =>
      createEtcdObjectStore({ clock: systemClock, random: systemRandom, newUid: systemUid, ...options, etcd }),
    kv: etcd.kv,
    compact: (revision) => etcd.maintenance.compact(revision, { signal: AbortSignal.timeout(60_000) }),
    stop: async () => etcd[Symbol.asyncDispose](),
  };
});
