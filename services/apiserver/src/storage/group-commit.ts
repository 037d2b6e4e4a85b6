import { type CancelTimer, type Clock, errorMessage, onAbort } from '@gantry/base';
import type { EtcdError } from '@gantry/etcd';
import type { CommitLane, GroupEnd } from './commit-lane.ts';
import { type GroupLimits, type IdentifiedWrite, chooseGroup } from './group.ts';
import { type GuardedWrite, StoreError, type WriteOutcome } from './object-store.ts';

interface Waiting extends IdentifiedWrite {
  state: 'queued' | 'sent';
  readonly sinceMs: number;
  readonly resolve: (outcome: WriteOutcome) => void;
  readonly reject: (error: Error) => void;
}

/** Maximum number of waiting writes. Beyond it etcd is too slow, and further writes fail at once to save memory. */
const MAX_WAITING = 20_000;

/**
 * While a group is being committed, another one starts when `COMPANY` writes wait, or `PACE_MS` after the last start. A group costs etcd
 * nearly as much as a single write, so few large groups are better than many small ones.
 */
const COMPANY = 32;
const PACE_MS = 8;

/** Collects waiting writes into groups and commits them on free lanes. */
export class GroupCommit {
  readonly #lanes: readonly CommitLane[];
  readonly #idle: CommitLane[];
  readonly #limits: GroupLimits;
  readonly #newWriteId: () => Uint8Array;
  readonly #clock: Clock;
  readonly #closed = new AbortController();
  /** The groups that are being committed. */
  readonly #running = new Map<Promise<void>, readonly Waiting[]>();
  /** The waiting writes in order. A set, so that an aborted write is removed fast. */
  readonly #queue = new Set<Waiting>();
  #pump: 'idle' | 'scheduled' = 'idle';
  #startedAt = Number.NEGATIVE_INFINITY;
  #cancelPace: CancelTimer | undefined;

  constructor(lanes: readonly CommitLane[], limits: GroupLimits, newWriteId: () => Uint8Array, clock: Clock) {
    this.#clock = clock;
    this.#lanes = lanes;
    this.#idle = [...lanes].reverse();
    this.#limits = limits;
    this.#newWriteId = newWriteId;
  }

  /**
   * Resolves with the outcome of the write. When `signal` is aborted, rejects with a StoreError: 'unavailable' if the write was never sent,
   * 'outcome-unknown' if it was.
   */
  write(write: GuardedWrite, signal: AbortSignal): Promise<WriteOutcome> {
    return new Promise<WriteOutcome>((resolve, reject) => {
      if (signal.aborted || this.#closed.signal.aborted) {
        reject(new StoreError('unavailable', 'the deadline passed before the write was sent'));
        return;
      }
      if (this.#queue.size >= MAX_WAITING) {
        reject(new StoreError('unavailable', 'too many writes are waiting'));
        return;
      }
      const done = () => signal.removeEventListener('abort', onAbort);
      const waiting: Waiting = {
        write,
        writeId: this.#newWriteId(),
        state: 'queued',
        sinceMs: this.#clock.monotonicMs(),
        resolve: (outcome) => {
          done();
          resolve(outcome);
        },
        reject: (error) => {
          done();
          reject(error);
        },
      };
      const onAbort = () => this.#giveUp(waiting, 'the deadline passed');
      signal.addEventListener('abort', onAbort, { once: true });
      this.#queue.add(waiting);
      this.#schedule();
    });
  }

  /** Rejects waiting writes and waits for running groups. When `now` is aborted, running groups are aborted as well. */
  async close(now: AbortSignal): Promise<void> {
    for (const waiting of this.#queue) waiting.reject(new StoreError('unavailable', 'the store is closing'));
    this.#queue.clear();
    this.#cancelPace?.();
    const cut = () => this.#closed.abort(new StoreError('outcome-unknown', 'the store was closed'));
    using _ = onAbort(now, cut);
    await Promise.all(this.#running.keys());
    cut();
  }

  /** Rejects writes that have waited for as long, like the end of their signals, with the reason in the message. */
  giveUp(waitedMs: number, reason: string): void {
    const until = this.#clock.monotonicMs() - waitedMs;
    for (const group of [...this.#running.values(), [...this.#queue]])
      for (const waiting of group) if (waiting.sinceMs <= until) this.#giveUp(waiting, reason);
  }

  /** Number of busy lanes, for metrics. */
  get busyLanes(): number {
    return this.#lanes.length - this.#idle.length;
  }

  #giveUp(waiting: Waiting, reason: string): void {
    if (waiting.state === 'sent') {
      waiting.reject(new StoreError('outcome-unknown', `${reason}; the write may still land`));
      return;
    }
    this.#queue.delete(waiting);
    waiting.reject(new StoreError('unavailable', `${reason} before the write was sent`));
  }

  #schedule(): void {
    if (this.#pump === 'scheduled' || this.#idle.length === 0) return;
    this.#pump = 'scheduled';
    setImmediate(() => {
      this.#pump = 'idle';
      this.#start();
    });
  }

  #start(): void {
    while (this.#queue.size > 0 && this.#idle.length > 0) {
      const wait = this.#paceMs();
      if (wait > 0) {
        this.#startIn(wait);
        return;
      }
      const lane = this.#idle.pop();
      if (lane === undefined) return;
      this.#startedAt = this.#clock.monotonicMs();
      const group = chooseGroup(this.#queue, this.#limits);
      for (const waiting of group) {
        waiting.state = 'sent';
        this.#queue.delete(waiting);
      }
      const run = this.#run(lane, group).finally(() => {
        this.#running.delete(run);
        this.#idle.push(lane);
        this.#start();
      });
      this.#running.set(run, group);
    }
  }

  /** How long waiting writes wait for others to join their group. A single write on an idle store does not wait. */
  #paceMs(): number {
    if (this.busyLanes === 0 || this.#queue.size >= COMPANY) return 0;
    return this.#startedAt + PACE_MS - this.#clock.monotonicMs();
  }

  #startIn(delayMs: number): void {
    this.#cancelPace ??= this.#clock.setTimer(delayMs, () => {
      this.#cancelPace = undefined;
      this.#start();
    });
  }

  async #run(lane: CommitLane, group: readonly Waiting[]): Promise<void> {
    try {
      const end = await lane.commit(group, this.#closed.signal);
      if (end.kind === 'failed' && group.length > 1 && end.error.code !== 'outcome-unknown') {
        for (const waiting of group) finish([waiting], await lane.commit([waiting], this.#closed.signal));
      } else finish(group, end);
    } catch (error) {
      const cause =
        error instanceof StoreError ? error : new StoreError('outcome-unknown', errorMessage(error), { cause: error });
      for (const waiting of group) waiting.reject(cause);
    }
  }
}

function finish(group: readonly Waiting[], end: GroupEnd): void {
  for (const [index, waiting] of group.entries()) {
    const outcome = end.kind === 'landed' ? end.outcomes[index] : undefined;
    if (outcome !== undefined) waiting.resolve(outcome);
    else waiting.reject(toStoreError(end));
  }
}

function toStoreError(end: GroupEnd): StoreError {
  if (end.kind === 'landed')
    return new StoreError('outcome-unknown', 'the group landed without an outcome for this write');
  return storeErrorOf(end.error);
}

/** Converts an etcd error to a StoreError. */
export function storeErrorOf(error: EtcdError): StoreError {
  switch (error.code) {
    case 'outcome-unknown':
    case 'compacted':
    case 'too-large':
    case 'no-space':
      return new StoreError(error.code, error.message, { cause: error });
    case 'busy':
    case 'future-revision':
    case 'invalid':
    case 'lease-gone':
    case 'permission-denied':
    case 'unavailable':
      return new StoreError('unavailable', error.message, { cause: error });
  }
}
