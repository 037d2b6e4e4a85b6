/** For tests: an in-memory model of etcd. */
export { MemoryEtcd, type TransactionFault } from './memory-etcd.ts';
