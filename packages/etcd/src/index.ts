/** Our own small port on etcd: range, guarded transaction, watch, lease, election. No vendor type crosses it. */
export { connectEtcd, type EtcdOptions } from './client/connect-etcd.ts';
export type { EtcdTls, EtcdTlsMaterial } from './client/member-connection.ts';
export {
  createElection,
  type Election,
  type ElectionEvent,
  electionKeyOf,
  type ElectionNotice,
  type ElectionOptions,
  type Term,
} from './election/election.ts';
export { EtcdError, type EtcdErrorCode, isDefinite, isEtcdError } from './etcd-error.ts';
export {
  type AccessControl,
  type AccessRule,
  type CallOptions,
  type Compare,
  type Etcd,
  type KeyValue,
  type KeyValueStore,
  type Lease,
  type Leases,
  type Maintenance,
  type MemberStatus,
  type Operation,
  type OperationResult,
  prefixEnd,
  type RangeRequest,
  type RangeResult,
  type Transaction,
  type TransactionResult,
  type Watch,
  type WatchedEvent,
  type Watcher,
  type WatchItem,
  type WatchRequest,
} from './ports.ts';
