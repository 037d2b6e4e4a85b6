import { type Clock, pause } from '@gantry/base';
import type { Logger } from '@gantry/service';
import type { Link } from '../plan/pod-memory.ts';
import type { Renewals } from './renewals.ts';

const TICK_MS = 500;

export interface FenceOptions {
  readonly renewals: Pick<Renewals, 'ageMs' | 'tenure' | 'subscribe'>;
  /** The longest time without a successful renewal, in milliseconds; Infinity for any. */
  readonly afterMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What a node may do with pods that run at most once, by the renewals of its Lease. */
export class Fence {
  readonly #options: FenceOptions;
  readonly #listeners = new Set<() => void>();
  #link: Link = 'connected';
  #tenure: number | undefined;

  constructor(options: FenceOptions) {
    this.#options = options;
  }

  link(): Link {
    return this.#link;
  }

  /** Whether this node may start something. */
  holdsLease(): boolean {
    return this.#options.renewals.tenure() !== undefined;
  }

  /** Calls the listener after each change. Returns a function that unsubscribes it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async run(signal: AbortSignal): Promise<void> {
    const unsubscribe = this.#options.renewals.subscribe(() => this.#look());
    try {
      while (!signal.aborted) {
        this.#look();
        await pause(this.#options.clock, TICK_MS, signal);
      }
    } finally {
      unsubscribe();
    }
  }

  #look(): void {
    const { renewals, afterMs, logger } = this.#options;
    const link = renewals.ageMs() < afterMs ? 'connected' : 'cut-off';
    const tenure = renewals.tenure();
    if (link === this.#link && tenure === this.#tenure) return;
    if (link !== this.#link && link === 'cut-off') {
      logger.warn({ afterMs }, 'cut off from the control plane: pods that run at most once are stopped');
    } else if (link !== this.#link) logger.info({}, 'connected to the control plane again');
    this.#link = link;
    this.#tenure = tenure;
    for (const listener of this.#listeners) listener();
  }
}

/** For nodes without a real engine, whose containers are not fenced. */
export const UNFENCED: Pick<Fence, 'link' | 'holdsLease' | 'subscribe'> = {
  link: () => 'connected',
  holdsLease: () => true,
  subscribe: () => () => undefined,
};
