import { type Clock, errorMessage, pause, type Random, repeatOnSignal, Signal, withDeadline } from '@gantry/base';
import type { Logger } from '@gantry/service';
import type { FlowTargets } from './rules/stale-flows.ts';

export interface FlowCleanerOptions {
  /** Ends flows of clients that no endpoint answers; returns their number. */
  readonly forgetStaleFlows: (targets: FlowTargets, signal: AbortSignal) => Promise<number>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const DEADLINE_MS = 30_000;
/** Each round reads all connections of the host: a burst of changes must not make it read them in a loop. */
const PAUSE_MS = 1000;
const BACKOFF = { initialMs: 200, maxMs: 10_000 };

/**
 * Makes clients choose anew after the rules of their Service have changed. It runs beside the changes of rules: a change never waits
 * until flows are found and ended, which takes the longer the more connections the host has.
 */
export class FlowCleaner {
  readonly #options: FlowCleanerOptions;
  readonly #work = new Signal();
  /** Kept until their flows have been looked at. */
  #targets = new Map<string, ReadonlySet<string>>();

  constructor(options: FlowCleanerOptions) {
    this.#options = options;
  }

  /** The rules of these addresses have changed. */
  readonly clean = (targets: FlowTargets): void => {
    for (const [address, endpoints] of targets) this.#targets.set(address, endpoints);
    if (this.#targets.size > 0) this.#work.notify();
  };

  /** Looks at flows until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#options;
    const onFailure = (error: unknown) =>
      logger.error({ reason: errorMessage(error) }, 'clients keep endpoints that are gone');
    await repeatOnSignal(
      { work: this.#work, backoff: BACKOFF, clock, random, onFailure },
      async () => await this.#cleanAll(signal),
      signal,
    );
  }

  async #cleanAll(signal: AbortSignal): Promise<number> {
    const targets = this.#targets;
    if (targets.size === 0) return Number.POSITIVE_INFINITY;
    this.#targets = new Map();
    try {
      await this.#clean(targets, signal);
    } catch (error) {
      this.#targets = new Map([...targets, ...this.#targets]);
      throw error;
    }
    await pause(this.#options.clock, PAUSE_MS, signal);
    return Number.POSITIVE_INFINITY;
  }

  async #clean(targets: FlowTargets, signal: AbortSignal): Promise<void> {
    const { clock, forgetStaleFlows, logger } = this.#options;
    using deadline = withDeadline(clock, signal, DEADLINE_MS);
    const count = await forgetStaleFlows(targets, deadline);
    if (count > 0) logger.info({ count }, 'clients choose a new endpoint');
  }
}
