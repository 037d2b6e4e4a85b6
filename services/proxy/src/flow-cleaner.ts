import { type Clock, ControlLoop, errorMessage, pause, type Random, Signal, withDeadline } from '@gantry/base';
import type { Logger } from '@gantry/service';
import type { FlowTargets } from './rules/stale-flows.ts';

export interface FlowCleanerOptions {
  /** Ends the flows of clients that no endpoint answers. Returns their number. */
  readonly forgetStaleFlows: (targets: FlowTargets, signal: AbortSignal) => Promise<number>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const DEADLINE_MS = 30_000;
/** Each round reads all connections of the host. A burst of changes must not make it read them in a loop. */
const PAUSE_MS = 1000;
const RETRY = { initialMs: 200, maxMs: 10_000 };
/**
 * How long, and how often, the cleaner looks again at a Service that has lost a TCP endpoint. A terminating pod has half a minute by
 * default, and may reset connections until its end. The kernel remembers each reset connection for ten seconds.
 */
const LINGER_MS = 45_000;
const LINGER_EVERY_MS = 2000;
/** A look may take this share of the time between two looks. */
const LINGER_SHARE = 1 / 20;

/**
 * Makes clients choose a new endpoint after the rules of their Service have changed. It runs beside the changes of rules, so a change
 * never waits for it. Finding and ending flows takes longer the more connections the host has.
 */
export class FlowCleaner {
  readonly #options: FlowCleanerOptions;
  readonly #work = new Signal();
  /** Targets stay here until their flows have been looked at. */
  #targets = new Map<string, ReadonlySet<string>>();
  /** TCP targets that have lost an endpoint, each with the monotonic time until which the cleaner looks at it. */
  readonly #lingering = new Map<string, { readonly endpoints: ReadonlySet<string>; readonly untilMs: number }>();

  constructor(options: FlowCleanerOptions) {
    this.#options = options;
  }

  /** The rules of these addresses have changed. */
  readonly clean = (targets: FlowTargets): void => {
    const untilMs = this.#options.clock.monotonicMs() + LINGER_MS;
    for (const [address, endpoints] of targets) {
      this.#targets.set(address, endpoints);
      if (address.startsWith('tcp ')) this.#lingering.set(address, { endpoints, untilMs });
    }
    if (this.#targets.size > 0) this.#work.notify();
  };

  /** Looks at flows until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#options;
    await new ControlLoop({
      round: () => this.#cleanAll(signal),
      work: this.#work,
      retry: RETRY,
      retryOn: 'time',
      onError: (error) => logger.error({ reason: errorMessage(error) }, 'clients keep endpoints that are gone'),
      clock,
      random,
    }).run(signal);
  }

  async #cleanAll(signal: AbortSignal): Promise<number> {
    const { clock } = this.#options;
    const startMs = clock.monotonicMs();
    const targets = new Map([...this.#stillLingering(startMs), ...this.#targets]);
    if (targets.size === 0) return Number.POSITIVE_INFINITY;
    this.#targets = new Map();
    try {
      await this.#clean(targets, signal);
    } catch (error) {
      this.#targets = new Map([...targets, ...this.#targets]);
      throw error;
    }
    const tookMs = clock.monotonicMs() - startMs;
    await pause(clock, PAUSE_MS, signal);
    return this.#lingering.size === 0 ? Number.POSITIVE_INFINITY : Math.max(LINGER_EVERY_MS, tookMs / LINGER_SHARE);
  }

  /**
   * The endpoints that are kept with a target lack those that it has got since. This does no harm: only ended TCP connections are
   * forgotten.
   */
  #stillLingering(nowMs: number): FlowTargets {
    for (const [target, { untilMs }] of this.#lingering) if (untilMs <= nowMs) this.#lingering.delete(target);
    return new Map([...this.#lingering].map(([target, { endpoints }]) => [target, endpoints]));
  }

  async #clean(targets: FlowTargets, signal: AbortSignal): Promise<void> {
    const { clock, forgetStaleFlows, logger } = this.#options;
    using deadline = withDeadline(clock, signal, DEADLINE_MS);
    const count = await forgetStaleFlows(targets, deadline);
    if (count > 0) logger.info({ count }, 'clients choose a new endpoint');
  }
}
