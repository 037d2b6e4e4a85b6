import { describeEtcd } from './etcd-contract.ts';
import { MemoryEtcd } from './memory-etcd.ts';

describeEtcd('etcd in memory', async () => {
  const etcd = new MemoryEtcd();
  return { etcd, compact: async (revision) => etcd.compactHistory(revision), stop: async () => {} };
});
