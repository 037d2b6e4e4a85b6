import { createMemoryObjectStore } from './memory-store.ts';
import { describeObjectStore } from './store-contract.ts';
import { MemoryEtcd } from '@gantry/etcd/testing';

describeObjectStore('the object store over etcd in memory', async () => {
  const etcd = new MemoryEtcd();
  return {
    createStore: (options) => createMemoryObjectStore({ ...options, etcd }),
    kv: etcd,
    compact: async (revision) => etcd.compactHistory(revision),
    stop: async () => {},
  };
});
