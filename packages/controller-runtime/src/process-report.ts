import { API_SERVERS, StatusError } from '@gantry/objects';
import { type GrpcService, introspectionService, type ReportedParts } from '@gantry/service';
import { type Clock, formatMicroTime, type Instant } from '@gantry/base';
import type { Leader } from './leader.ts';

/** The gRPC service by which API servers ask this process for its parts. */
export function reportService(parts: ReportedParts): GrpcService {
  const forbidden = () => new StatusError('Forbidden', 'only API servers may ask what this process does');
  return introspectionService({ parts, askedBy: API_SERVERS, forbidden });
}

/** A process that may lead a component, and the steps of its last term. Times are RFC 3339, with microseconds. */
export interface ProcessReport {
  readonly component: string;
  readonly identity: string;
  readonly startedAt: string;
  /** `leading`: its term lasts. `standby`: it has no term, or its last one has ended. */
  readonly state: 'leading' | 'standby';
  /** The time to live of its lease in etcd; 0 for a standby. */
  readonly leaseTtlMs: number;
  /** Its last term; absent before the first one. */
  readonly term?: {
    readonly epoch: number;
    readonly electedAt: string;
    /** When its caches had reached the epoch, and it began to act. */
    readonly actingAt?: string;
    readonly firstWriteAt?: string;
    readonly endedAt?: string;
  };
}

/** The part `process` of a process that works without an election. Create it when the process starts. */
export function runningProcess(component: string, identity: string, clock: Clock): () => object {
  const startedAt = formatMicroTime(clock.now());
  return () => ({ component, identity, startedAt, state: 'running' });
}

/** What `reportedProcess` reads. */
export interface ReportedProcessOptions {
  readonly component: string;
  readonly identity: string;
  readonly leader: Pick<Leader, 'times'>;
  readonly leaseTtlMs: () => number;
  readonly clock: Clock;
}

/** The part `process` of what a process says of itself. Create it when the process starts. */
export function reportedProcess(options: ReportedProcessOptions): () => ProcessReport {
  const { component, identity, leader, leaseTtlMs, clock } = options;
  const startedAt = formatMicroTime(clock.now());
  return () => {
    const { times } = leader;
    const isLeading = times !== undefined && times.endedAt === undefined;
    const report = { component, identity, startedAt, state: isLeading ? 'leading' : 'standby' } as const;
    if (times === undefined) return { ...report, leaseTtlMs: leaseTtlMs() };
    const { epoch, electedAt, actingAt, firstWriteAt, endedAt } = times;
    return {
      ...report,
      leaseTtlMs: leaseTtlMs(),
      term: {
        epoch,
        electedAt: formatMicroTime(electedAt),
        ...shown({ actingAt, firstWriteAt, endedAt }),
      },
    };
  };
}

function shown(times: Readonly<Record<string, Instant | undefined>>): Readonly<Record<string, string>> {
  const known = Object.entries(times).flatMap(([name, at]) => (at === undefined ? [] : [[name, formatMicroTime(at)]]));
  return Object.fromEntries(known);
}
