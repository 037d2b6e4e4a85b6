import { type Clock, errorMessage, pause, Signal } from '@gantry/base';
import { equalJson, type Pod, PODS, type PodStatus, type Status } from '@gantry/objects';
import type { ObjectClient, ObjectWrite, WriteResult } from '@gantry/client';
import type { Logger } from '@gantry/service';
import type { PodSource } from '../sources/pod-source.ts';
import { canWait } from './can-wait.ts';
import { rebaseStatus } from './rebase-status.ts';

const MAX_BATCH = 100;
/** Reports within this time share a batch. */
const GATHER_MS = 5;
const RETRY_MS = 300;
/** How long a report that can wait is held back. The next report usually contains it, so a pod starts with one write instead of three. */
const HOLD_MS = 1_000;

export interface StatusReporterOptions {
  readonly client: ObjectClient;
  /** The objects to which the status is written. */
  readonly pods: Pick<PodSource, 'get' | 'observe' | 'subscribe'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called after each write of a status, with the pod before and after the write. */
  readonly onWritten?: (before: Pod, after: Pod) => void;
}

/**
 * Writes changed pod statuses in batches, only the newest of each pod, and retries until they are written. Changes of other fields by
 * other clients are kept. A change that clients can wait for is written with the next one, or after a second.
 */
export class StatusReporter {
  readonly #options: StatusReporterOptions;
  readonly #wanted = new Map<string, PodStatus>();
  /** Reports that were rejected with a Conflict. They are applied to the newer pod when it arrives. */
  readonly #overtaken = new Map<string, PodStatus>();
  /** When a report that can wait is written, on the monotonic clock. All wait equally long, so the earliest comes first. */
  readonly #held = new Map<string, number>();
  readonly #work = new Signal();

  constructor(options: StatusReporterOptions) {
    this.#options = options;
  }

  /** Never blocks. A status that equals the known one is not written. */
  report(uid: string, status: PodStatus): void {
    const { pods, clock } = this.#options;
    const known = pods.get(uid);
    this.#overtaken.delete(uid);
    if (known === undefined || equalJson(known.status, status)) {
      this.#forget(uid);
      return;
    }
    this.#wanted.set(uid, startedWith(this.#wanted.get(uid), status));
    if (!canWait(known.status ?? {}, status)) this.#held.delete(uid);
    else if (!this.#held.has(uid)) this.#held.set(uid, clock.monotonicMs() + HOLD_MS);
    this.#work.notify();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, pods } = this.#options;
    const unsubscribe = pods.subscribe((uid) => this.#catchUp(uid));
    try {
      while (!signal.aborted) {
        const delayMs = this.#untilDue();
        if (delayMs > 0) {
          await this.#work.wait(clock, delayMs, signal);
          continue;
        }
        await pause(clock, GATHER_MS, signal);
        if (signal.aborted) return;
        const failed = await this.#flush(signal);
        if (failed === 'some') await pause(clock, RETRY_MS, signal);
      }
    } finally {
      unsubscribe();
    }
  }

  /** Milliseconds until the next report has to be written; Infinity without one. */
  #untilDue(): number {
    if (this.#wanted.size > this.#held.size) return 0;
    const [first = Infinity] = this.#held.values();
    return first - this.#options.clock.monotonicMs();
  }

  #forget(uid: string): void {
    this.#wanted.delete(uid);
    this.#held.delete(uid);
  }

  #catchUp(uid: string): void {
    const status = this.#overtaken.get(uid);
    if (status === undefined) return;
    this.#overtaken.delete(uid);
    this.#wanted.set(uid, status);
    this.#work.notify();
  }

  async #flush(signal: AbortSignal): Promise<'none' | 'some'> {
    const { client, pods, logger } = this.#options;
    const batch: Report[] = [];
    const now = this.#options.clock.monotonicMs();
    for (const [uid, status] of this.#wanted) {
      if (batch.length === MAX_BATCH) break;
      if ((this.#held.get(uid) ?? now) > now) continue;
      const pod = pods.get(uid);
      const rebased = pod === undefined ? undefined : rebaseStatus(status, pod.status ?? {});
      if (pod === undefined || rebased === undefined || equalJson(pod.status, rebased)) this.#forget(uid);
      else batch.push({ uid, status, pod, write: statusWrite(pod, rebased) });
    }
    if (batch.length === 0) return 'none';
    try {
      const results = await client.batch(
        batch.map(({ write }) => write),
        signal,
      );
      const outcomes = batch.map((report, index) => this.#conclude(report, results[index]));
      return outcomes.includes('retry') ? 'some' : 'none';
    } catch (error) {
      if (!signal.aborted) logger.debug({ reason: errorMessage(error) }, 'status reports were not written');
      return 'some';
    }
  }

  #conclude({ uid, status, pod }: Report, result: WriteResult | undefined): Outcome {
    const { pods, logger, onWritten } = this.#options;
    if (result === undefined) return 'retry';
    const outcome = result.ok ? 'done' : outcomeOf(result.status);
    const isNewest = this.#wanted.get(uid) === status;
    if (outcome === 'overtaken') {
      // If the newer pod has arrived already, the report is immediately applied to it.
      if (isNewest && pods.get(uid) === pod) {
        this.#forget(uid);
        this.#overtaken.set(uid, status);
      }
      return outcome;
    }
    if (outcome !== 'retry' && isNewest) this.#forget(uid);
    if (result.ok) {
      pods.observe(result.object);
      onWritten?.(pod, result.object);
    } else if (outcome === 'rejected') {
      logger.warn({ pod: uid, reason: result.status.message }, 'status of a pod was rejected');
    }
    return outcome;
  }
}

/** Keeps the start time of an unwritten report: a pod's start time is when the node first saw it. */
function startedWith(unwritten: PodStatus | undefined, status: PodStatus): PodStatus {
  return unwritten?.startTime === undefined ? status : { ...status, startTime: unwritten.startTime };
}

/** A status that is being written. */
interface Report {
  readonly uid: string;
  readonly status: PodStatus;
  readonly pod: Pod;
  readonly write: ObjectWrite;
}

type Outcome = 'done' | 'retry' | 'gone' | 'overtaken' | 'rejected';

/** The write is conditional on the version from which the fields of other owners were taken. */
function statusWrite(pod: Pod, status: PodStatus): ObjectWrite {
  const { name = '', namespace = '' } = pod.metadata;
  return {
    verb: 'update',
    resource: PODS,
    key: { namespace, name },
    subresource: 'status',
    object: { ...pod, status } as Pod,
  };
}

function outcomeOf(status: Status): Outcome {
  if (status.reason === 'NotFound') return 'gone';
  if (status.code === 409) return 'overtaken';
  return (status.code ?? 500) >= 500 || status.code === 429 ? 'retry' : 'rejected';
}
