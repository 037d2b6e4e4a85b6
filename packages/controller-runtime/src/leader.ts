import {
  type Ability,
  anySignal,
  DeadlineError,
  type Election,
  type Instant,
  lead,
  onAbort,
  sleep,
  type Term,
  untilAborted,
  withDeadline,
} from '@gantry/base';
import type { Fence } from '@gantry/client';
import type { Informers } from './informers.ts';
import { keepLeaderRecord, type LeaderRecordOptions } from './leader-record.ts';

/** The default of `resignAfterMs`. */
const RESIGN_AFTER_MS = 10_000;

/**
 * The fence of the current term, for the client that writes. `fence()` is undefined while this process does not lead; such writes are then
 * rejected.
 */
export interface FenceHolder {
  fence(): Fence | undefined;
  set(term: Term | undefined, cacheRevision: () => number): void;
  /** Calls `listener` once, at the first write of the current term. */
  onFirstWrite(listener: () => void): void;
}

/** A holder without a term. */
export function createFenceHolder(): FenceHolder {
  let current: { term: Term; cacheRevision: () => number } | undefined;
  let firstWrite: (() => void) | undefined;
  return {
    fence: () => {
      if (current === undefined) return undefined;
      firstWrite?.();
      firstWrite = undefined;
      return { ...current.term, cacheRevision: current.cacheRevision() };
    },
    set: (term, cacheRevision) => {
      current = term === undefined ? undefined : { term, cacheRevision };
      firstWrite = undefined;
    },
    onFirstWrite: (listener) => {
      firstWrite = listener;
    },
  };
}

/** The steps of a term, in Unix milliseconds. */
export interface TermTimes {
  readonly epoch: number;
  readonly electedAt: Instant;
  /** When the caches had reached the epoch, and the work began. */
  actingAt?: Instant;
  firstWriteAt?: Instant;
  /** When the term ended, or was suspended. */
  endedAt?: Instant;
}

export interface LeaderOptions extends LeaderRecordOptions {
  /** The client writes with its fence. */
  readonly fences: FenceHolder;
  readonly informers: Pick<Informers, 'cache' | 'reach' | 'reachNewest' | 'strandedSinceMs' | 'synced' | 'when'>;
  /**
   * Milliseconds without an API server that answers, or with caches that stay behind, after which this process resigns; 10 000 when absent.
   */
  readonly resignAfterMs?: number;
  /** The work of a term. Starts no new work once `stop` is aborted, and stops running work once `signal` is aborted. */
  readonly work: (stop: AbortSignal, signal: AbortSignal) => Promise<void>;
}

/** Leads one component. In each term, it works with the term's fence, starting when the caches have reached the term's epoch. */
export class Leader {
  readonly #options: LeaderOptions;
  readonly #draining = new AbortController();
  #acting: Promise<unknown> = Promise.resolve();
  #times: TermTimes | undefined;

  constructor(options: LeaderOptions) {
    this.#options = options;
  }

  /** The steps of the last term of this process; undefined before its first one. It leads while `endedAt` is absent. */
  get times(): TermTimes | undefined {
    return this.#times;
  }

  /** A member of a process that campaigns and leads. */
  member(election: Election) {
    return {
      name: 'elected',
      run: (signal: AbortSignal) =>
        lead(
          { ...this.#options, election, ability: this.#ability(), act: (term, ended) => this.lead(term, ended) },
          signal,
        ),
      drain: () => this.drain(),
    };
  }

  /** This process can do the work while the API answers and its caches follow. */
  #ability(): Ability {
    const { informers, clock, resignAfterMs = RESIGN_AFTER_MS } = this.#options;
    return {
      gained: async (signal) => {
        await informers.when(() => informers.synced() && informers.strandedSinceMs() === undefined, signal);
        await informers.reachNewest(signal);
      },
      lost: async (signal) => {
        try {
          for (;;) {
            await informers.when(() => informers.strandedSinceMs() !== undefined, signal);
            const sinceMs = informers.strandedSinceMs();
            if (sinceMs === undefined) continue;
            if (clock.monotonicMs() - sinceMs >= resignAfterMs) return;
            await sleep(clock, sinceMs + resignAfterMs - clock.monotonicMs(), signal);
          }
        } catch (error) {
          if (!signal.aborted) throw error;
        }
      },
    };
  }

  /**
   * Leads a term until the signal is aborted and all work has ended, or until the caches have stayed behind the term's epoch for too long.
   * One term at a time. A term in which this process has written is not continued after an interruption: writes that were cut off may still
   * be on their way, unknown to the caches, and only a new epoch keeps them out.
   */
  async lead(term: Term, signal: AbortSignal): Promise<void> {
    if (!signal.aborted && !this.#draining.signal.aborted) {
      const { clock, log } = this.#options;
      if (this.#times?.epoch === term.epoch && this.#times.firstWriteAt !== undefined) {
        log.warn({ term }, 'the term was interrupted, and its last writes may not be known');
        return;
      }
      const times: TermTimes =
        this.#times?.epoch === term.epoch ? this.#times : { epoch: term.epoch, electedAt: clock.now() };
      delete times.endedAt;
      this.#times = times;
      using _ = onAbort(signal, () => (times.endedAt = clock.now()));
      const acting = this.#act(term, signal);
      this.#acting = acting;
      if ((await acting) === 'behind') return;
    }
    // The work may have ended by draining. The term itself ends only when the election says so.
    await untilAborted(signal);
  }

  /** Starts no new work, in this term or a later one. Resolves when running work has ended. */
  async drain(): Promise<void> {
    this.#draining.abort();
    await Promise.allSettled([this.#acting]);
  }

  /** `behind`: the caches have not reached the term's epoch in time. */
  async #act(term: Term, signal: AbortSignal): Promise<'behind' | 'ended'> {
    const { informers, fences, work } = this.#options;
    const ended = new AbortController();
    using stop = anySignal(signal, this.#draining.signal, ended.signal);
    let record: Promise<void> | undefined;
    try {
      if (!(await this.#reach(term, stop))) return 'behind';
      fences.set(term, () => informers.cache.revision());
      this.#markSteps();
      record = keepLeaderRecord(this.#options, stop);
      await work(stop, signal);
    } catch (error) {
      if (!stop.aborted) throw error;
    } finally {
      ended.abort();
      await record;
      fences.set(undefined, () => 0);
    }
    return 'ended';
  }

  #markSteps(): void {
    const { clock, fences } = this.#options;
    const times = this.#times;
    if (times === undefined) return;
    times.actingAt ??= clock.now();
    fences.onFirstWrite(() => (times.firstWriteAt ??= clock.now()));
  }

  /** Whether the caches have reached the term's epoch in time. */
  async #reach(term: Term, signal: AbortSignal): Promise<boolean> {
    const { informers, clock, resignAfterMs = RESIGN_AFTER_MS, log } = this.#options;
    using deadline = withDeadline(clock, signal, resignAfterMs);
    try {
      await informers.reach(term.epoch, deadline);
      return true;
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      log.warn({ term }, `the caches have not reached the term's epoch in ${resignAfterMs} ms`);
      return false;
    }
  }
}
