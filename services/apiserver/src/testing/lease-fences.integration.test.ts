import { systemClock, systemRandom, systemUid } from '@gantry/base';
import { connectEtcd } from '@gantry/etcd';
import { startEtcdCluster } from '@gantry/etcd/testing';
import { ensureIncarnation } from '../incarnation.ts';
import { createEtcdObjectStore } from '../storage/etcd-object-store.ts';
import { TEST_SEALING } from '../storage/testing/test-sealing.ts';
import { describeLeaseFences } from './describe-lease-fences.ts';

describeLeaseFences('a write in a term of a Lease, over a real etcd', async () => {
  const stack = new AsyncDisposableStack();
  const cluster = stack.use(await startEtcdCluster());
  const base = { clock: systemClock, random: systemRandom, newUid: systemUid };
  const etcd = stack.use(connectEtcd({ endpoints: cluster.endpoints, ...base }));
  await ensureIncarnation(etcd.kv, systemUid, AbortSignal.timeout(60_000));
  return {
    open: async () => {
      const store = createEtcdObjectStore({ ...base, etcd, sealing: TEST_SEALING });
      stack.defer(() => store.close(AbortSignal.timeout(1000)));
      return store;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
});
