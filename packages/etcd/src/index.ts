/**
 * A small port for etcd, drawn around what this system needs. No type of etcd's wire format crosses it.
 *
 * - `ports`: range, guarded transaction, watch, lease, maintenance, access control
 * - `client/`: their implementation on etcd's gRPC API
 * - `election/`: leader election whose terms fence writes
 * - `etcd-error`: the closed set of error codes
 *
 * Used by the apiserver for storage, and by the scheduler and the controller-manager for elections. `./testing` has the
 * contract suite, an etcd in memory that passes it, and clusters for tests.
 */
export { connectEtcd } from './client/connect-etcd.ts';
export {
  createElection,
  electionKeyOf,
} from './election/election.ts';
export { openElection } from './election/open-election.ts';
export { EtcdError, isDefinite, isEtcdError } from './etcd-error.ts';
export {
  type AccessRule,
  type Compare,
  type Etcd,
  type KeyValue,
  type KeyValueStore,
  type MemberStatus,
  type Operation,
  type OperationResult,
  prefixEnd,
  type SnapshotPart,
  type RangeRequest,
  type RangeResult,
  type Transaction,
  type TransactionResult,
  type WatchedEvent,
  type WatchItem,
} from './ports.ts';
