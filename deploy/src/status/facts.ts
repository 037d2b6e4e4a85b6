import type { Instant } from '@gantry/base';
import type { FailingMember } from '../cluster/etcd-members.ts';
import type { ServiceContainer } from '../cluster/compose.ts';

/** One etcd member as it reports itself; the other fields are empty unless `healthy`. */
export interface EtcdMember {
  readonly name: string;
  /** `restarting`: its container ends at each start. */
  readonly state: 'healthy' | 'unreachable' | 'restarting';
  /** Why it restarts. */
  readonly cause?: FailingMember['cause'];
  /** `no leader`: it knows no leader, so it serves nothing. */
  readonly role: 'leader' | 'follower' | 'no leader' | '';
  readonly version: string;
  readonly dbBytes: number;
  /** The size from which on it accepts only deletes. */
  readonly quotaBytes: number;
  /** What the member reports of itself and of the others: `NOSPACE`, `CORRUPT`. */
  readonly alarms: readonly string[];
}

export interface Leader {
  readonly component: string;
  readonly holder: string;
  /** Whether the Lease was renewed within its duration. */
  readonly freshness: 'current' | 'expired';
  /** The time to live of its lease in etcd, which becomes longer while renewals are late. Undefined if it has none there. */
  readonly ttlMs: number | undefined;
}

export interface NodeFact {
  readonly name: string;
  readonly ready: 'True' | 'False' | 'Unknown';
  /** What it is short of, by its conditions: `DiskPressure`, `MemoryPressure`, `PIDPressure`. */
  readonly pressures: readonly string[];
  readonly version: string;
  readonly address: string;
}

/** A deleted pod of a lost node, which stays until its containers are known to have stopped. */
export interface WaitingPod {
  readonly node: string;
  /** `NAMESPACE/NAME` */
  readonly pod: string;
}

export interface CertificateFact {
  readonly of: string;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

/** The API as the administrator sees it through the published port. */
export type ApiFact =
  | { readonly state: 'ready'; readonly version: string }
  | { readonly state: 'not ready'; readonly why: string };

/** The observed state of a cluster. */
export interface Facts {
  readonly clusterId: string;
  readonly now: Instant;
  readonly containers: readonly ServiceContainer[];
  readonly etcd: readonly EtcdMember[];
  readonly api: ApiFact;
  readonly leaders: readonly Leader[];
  readonly nodes: readonly NodeFact[];
  readonly waitingPods: readonly WaitingPod[];
  readonly certificates: readonly CertificateFact[];
}
