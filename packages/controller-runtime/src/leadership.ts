import { backoffMs, type Clock, type Random, sleep } from '@gantry/base';
import type { Fence } from '@gantry/client';
import type { Log } from './log.ts';

/** What a leader's writes are guarded by: the election key and its create revision in this incarnation of the store. */
export interface Term {
  readonly electionKey: string;
  readonly epoch: number;
  readonly incarnation: string;
}

/**
 * What a campaign tells: leading begins, is uncertain (`suspended`: act no more for now), goes on in the same term, or is
 * over. After `lost` the campaign goes on by itself.
 */
export type ElectionEvent =
  | ({ readonly kind: 'elected' } & Term)
  | { readonly kind: 'lost' }
  | { readonly kind: 'suspended' }
  | { readonly kind: 'resumed' };

/** An election to take part in. Aborting the signal resigns. */
export interface Election {
  campaign(signal: AbortSignal): AsyncIterable<ElectionEvent>;
}

/** The fence of the present term, given to the client that writes: undefined while not leading, so that such writes are refused. */
export interface FenceHolder {
  fence(): Fence | undefined;
  set(term: Term | undefined, cacheRevision: () => number): void;
}

export function createFenceHolder(): FenceHolder {
  let current: { term: Term; cacheRevision: () => number } | undefined;
  return {
    fence: () => {
      if (current === undefined) return undefined;
      const { electionKey, epoch, incarnation } = current.term;
      return { electionKey, epoch, incarnation, cacheRevision: current.cacheRevision() };
    },
    set: (term, cacheRevision) => {
      current = term === undefined ? undefined : { term, cacheRevision };
    },
  };
}

export interface ElectedOptions {
  readonly election: Election;
  /**
   * Acts as the leader. `stop` asks to finish what is under way and take nothing new; `signal` to drop everything at once.
   * Called again with the same term after a suspension, never twice at a time.
   */
  readonly act: (term: Term, stop: AbortSignal, signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** A member of a process's run group that acts while it is elected. */
export interface ElectedMember {
  readonly name: string;
  readonly run: (signal: AbortSignal) => Promise<void>;
  readonly drain: (signal: AbortSignal) => Promise<void>;
  /** What this process is at the moment. */
  role(): 'standby' | 'leader' | 'suspended';
}

const BACKOFF = { initialMs: 200, maxMs: 2000 };

/** Campaigns for ever; acts between `elected` and `lost`. An election that fails is tried again, it never ends the process. */
export function runElected(options: ElectedOptions): ElectedMember {
  const member = new Elected(options);
  return {
    name: 'elected',
    run: (signal) => member.run(signal),
    drain: (signal) => member.drain(signal),
    role: () => member.role,
  };
}

interface Acting {
  readonly stop: AbortController;
  readonly drop: AbortController;
  readonly done: Promise<void>;
}

class Elected {
  readonly #options: ElectedOptions;
  #term: Term | undefined;
  #acting: Acting | undefined;
  #mode: 'open' | 'draining' = 'open';

  constructor(options: ElectedOptions) {
    this.#options = options;
  }

  get role(): 'standby' | 'leader' | 'suspended' {
    if (this.#term === undefined) return 'standby';
    return this.#acting === undefined ? 'suspended' : 'leader';
  }

  async run(signal: AbortSignal): Promise<void> {
    const { election, clock, random, log } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      try {
        for await (const event of election.campaign(signal)) {
          failures = 0;
          await this.#take(event);
        }
        if (signal.aborted) break;
        log.warn({}, 'the campaign ended, beginning another');
      } catch (error) {
        if (signal.aborted) break;
        log.warn({ err: error }, 'the campaign failed, beginning another');
      }
      await this.#end();
      this.#term = undefined;
      failures += 1;
      // Rejects only when the signal is aborted, which the loop sees.
      await sleep(clock, backoffMs(BACKOFF, failures, random), signal).catch(() => undefined);
    }
    await this.#end();
    this.#term = undefined;
  }

  /** Finishes what is under way, bounded by the signal; then the run's signal resigns. */
  async drain(signal: AbortSignal): Promise<void> {
    this.#mode = 'draining';
    const acting = this.#acting;
    if (acting === undefined) return;
    acting.stop.abort();
    const drop = () => acting.drop.abort();
    if (signal.aborted) drop();
    else signal.addEventListener('abort', drop, { once: true });
    await acting.done;
    signal.removeEventListener('abort', drop);
  }

  async #take(event: ElectionEvent): Promise<void> {
    const { log } = this.#options;
    switch (event.kind) {
      case 'elected': {
        const { electionKey, epoch, incarnation } = event;
        log.info({ electionKey, epoch }, 'elected');
        await this.#end();
        this.#term = { electionKey, epoch, incarnation };
        this.#begin(this.#term);
        break;
      }
      case 'suspended':
        log.warn({}, 'leadership is uncertain, acting no more');
        await this.#end();
        break;
      case 'resumed':
        log.info({}, 'leadership is certain again');
        await this.#end();
        if (this.#term !== undefined) this.#begin(this.#term);
        break;
      case 'lost':
        log.warn({}, 'leadership lost');
        await this.#end();
        this.#term = undefined;
        break;
    }
  }

  #begin(term: Term): void {
    if (this.#mode === 'draining') return;
    const stop = new AbortController();
    const drop = new AbortController();
    const done = this.#options.act(term, stop.signal, drop.signal).catch((error: unknown) => {
      if (!drop.signal.aborted) this.#options.log.error({ err: error }, 'acting as the leader failed');
    });
    this.#acting = { stop, drop, done };
  }

  async #end(): Promise<void> {
    const acting = this.#acting;
    this.#acting = undefined;
    if (acting === undefined) return;
    acting.stop.abort();
    acting.drop.abort();
    await acting.done;
  }
}
