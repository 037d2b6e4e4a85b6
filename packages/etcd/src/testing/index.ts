/** For tests: an in-memory model of etcd, and a throw-away cluster of the real one. */
export {
  type ClusterMember,
  CONTAINER_LABELS,
  type EtcdCluster,
  patiently,
  prepareContainers,
  REAPER_IMAGE,
  startEtcdCluster,
} from './etcd-cluster.ts';
export { MemoryEtcd } from './memory-etcd.ts';
