import { systemClock, systemRandom, systemUid } from '@gantry/base';
import { MemoryEtcd } from '@gantry/etcd/testing';
import { ensureIncarnation } from '../incarnation.ts';
import { createMemoryObjectStore, type MemoryObjectStore } from '../storage/testing/memory-store.ts';
import { describeLeaseFences } from './describe-lease-fences.ts';

describeLeaseFences('a write in a term of a Lease, over a model of etcd', async () => {
  const etcd = new MemoryEtcd();
  await ensureIncarnation(etcd, systemUid, new AbortController().signal);
  const stores: MemoryObjectStore[] = [];
  return {
    open: async () => {
      const store = createMemoryObjectStore({ etcd, clock: systemClock, random: systemRandom, newUid: systemUid });
      stores.push(store);
      return store;
    },
    [Symbol.asyncDispose]: async () => {
      for (const store of stores) await store.close(AbortSignal.timeout(1000));
    },
  };
});
