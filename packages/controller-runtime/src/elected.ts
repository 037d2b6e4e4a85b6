import { backoffMs, type Clock, pause, type Random } from '@gantry/base';
import type { Term } from './leadership.ts';
import type { Log } from './log.ts';

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

export interface ElectedOptions {
  readonly election: Election;
  /**
   * Acts as the leader until the signal is aborted, and has then dropped everything when it resolves. Called again with the
   * same term after a suspension, never twice at a time.
   */
  readonly act: (term: Term, signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** A member of a process's run group that acts while it is elected. */
export interface ElectedMember {
  readonly name: string;
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** What this process is at the moment. */
  readonly role: () => 'standby' | 'leader' | 'suspended';
}

const BACKOFF = { initialMs: 200, maxMs: 2000 };

/** Campaigns for ever; acts between `elected` and `lost`. An election that fails is tried again, it never ends the process. */
export function runElected(options: ElectedOptions): ElectedMember {
  const elected = new Elected(options);
  return { name: 'elected', run: (signal) => elected.run(signal), role: () => elected.role };
}

class Elected {
  readonly #options: ElectedOptions;
  #term: Term | undefined;
  #acting: { readonly stop: AbortController; readonly done: Promise<void> } | undefined;

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
        if (!signal.aborted) log.warn({}, 'the campaign ended, beginning another');
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, 'the campaign failed, beginning another');
      }
      await this.#stop();
      this.#term = undefined;
      failures += 1;
      await pause(clock, backoffMs(BACKOFF, failures, random), signal);
    }
  }

  async #take(event: ElectionEvent): Promise<void> {
    const { log } = this.#options;
    await this.#stop();
    switch (event.kind) {
      case 'elected': {
        const { electionKey, epoch, incarnation } = event;
        log.info({ electionKey, epoch }, 'elected');
        this.#term = { electionKey, epoch, incarnation };
        this.#act(this.#term);
        break;
      }
      case 'suspended':
        log.warn({}, 'leadership is uncertain, acting no more');
        break;
      case 'resumed':
        log.info({}, 'leadership is certain again');
        if (this.#term !== undefined) this.#act(this.#term);
        break;
      case 'lost':
        log.warn({}, 'leadership lost');
        this.#term = undefined;
        break;
    }
  }

  #act(term: Term): void {
    const stop = new AbortController();
    this.#acting = { stop, done: this.#keepActing(term, stop.signal) };
  }

  async #keepActing(term: Term, signal: AbortSignal): Promise<void> {
    const { act, clock, random, log } = this.#options;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        await act(term, signal);
      } catch (error) {
        if (!signal.aborted) log.error({ err: error }, 'acting as the leader failed, trying again');
      }
      await pause(clock, backoffMs(BACKOFF, failures, random), signal);
    }
  }

  async #stop(): Promise<void> {
    const acting = this.#acting;
    this.#acting = undefined;
    acting?.stop.abort();
    await acting?.done;
  }
}
