/** For tests: an in-memory model of etcd, and a throw-away cluster of the real one. */
export {
  type ClusterMember,
  CONTAINER_LABELS,
  type EtcdCluster,
  type EtcdClusterOptions,
  prepareContainers,
  REAPER_IMAGE,
  startEtcdCluster,
} from './etcd-cluster.ts';
export { freezeContainer } from './freeze-container.ts';
export { MemoryEtcd, type TransactionFault } from './memory-etcd.ts';
