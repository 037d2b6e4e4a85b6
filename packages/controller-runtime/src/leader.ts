import { anySignal, type Election, lead, type Term, untilAborted } from '@gantry/base';
import type { Fence } from '@gantry/client';
import type { Informers } from './informers.ts';
import { keepLeaderRecord, type LeaderRecordOptions } from './leader-record.ts';

/**
 * The fence of the current term, for the client that writes. `fence()` is undefined while this process does not lead; such writes are then
 * rejected.
 */
export interface FenceHolder {
  fence(): Fence | undefined;
  set(term: Term | undefined, cacheRevision: () => number): void;
}

/** A holder without a term. */
export function createFenceHolder(): FenceHolder {
  let current: { term: Term; cacheRevision: () => number } | undefined;
  return {
    fence: () => (current === undefined ? undefined : { ...current.term, cacheRevision: current.cacheRevision() }),
    set: (term, cacheRevision) => {
      current = term === undefined ? undefined : { term, cacheRevision };
    },
  };
}

export interface LeaderOptions extends LeaderRecordOptions {
  /** The client writes with its fence. */
  readonly fences: FenceHolder;
  readonly informers: Pick<Informers, 'cache' | 'reach'>;
  /** The work of a term. Starts no new work once `stop` is aborted, and stops running work once `signal` is aborted. */
  readonly work: (stop: AbortSignal, signal: AbortSignal) => Promise<void>;
}

/** Leads one component. In each term, it works with the term's fence, starting when the caches have reached the term's epoch. */
export class Leader {
  readonly #options: LeaderOptions;
  readonly #draining = new AbortController();
  #acting: Promise<void> = Promise.resolve();

  constructor(options: LeaderOptions) {
    this.#options = options;
  }

  /** A member of a process that campaigns and leads. */
  member(election: Election) {
    return {
      name: 'elected',
      run: (signal: AbortSignal) =>
        lead({ ...this.#options, election, act: (term, ended) => this.lead(term, ended) }, signal),
      drain: () => this.drain(),
    };
  }

  /** Leads a term until the signal is aborted and all work has ended. One term at a time. */
  async lead(term: Term, signal: AbortSignal): Promise<void> {
    if (!signal.aborted && !this.#draining.signal.aborted) {
      this.#acting = this.#act(term, signal);
      await this.#acting;
    }
    // The work may have ended by draining. The term itself ends only when the election says so.
    await untilAborted(signal);
  }

  /** Starts no new work, in this term or a later one. Resolves when running work has ended. */
  async drain(): Promise<void> {
    this.#draining.abort();
    await Promise.allSettled([this.#acting]);
  }

  async #act(term: Term, signal: AbortSignal): Promise<void> {
    const { informers, fences, work } = this.#options;
    const ended = new AbortController();
    using stop = anySignal(signal, this.#draining.signal, ended.signal);
    let record: Promise<void> | undefined;
    try {
      await informers.reach(term.epoch, stop);
      fences.set(term, () => informers.cache.revision());
      record = keepLeaderRecord(this.#options, stop);
      await work(stop, signal);
    } catch (error) {
      if (!stop.aborted) throw error;
    } finally {
      ended.abort();
      await record;
      fences.set(undefined, () => 0);
    }
  }
}
