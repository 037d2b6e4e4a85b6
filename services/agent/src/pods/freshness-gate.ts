import { type Clock, pause, raceAbort } from '@gantry/base';
import { AgentError } from '../runtime/agent-error.ts';

const TICK_MS = 500;
/** If a process's ticks have a gap this long, the process was stopped or frozen, and its state may be outdated. */
const MAX_GAP_MS = 3_000;

/** The tenure of a gate that no Lease limits. */
const WITHOUT_LEASE = () => 0;

/**
 * Prevents actions based on outdated state. The gate is closed at first and after every gap in this process's own time; a linearizable
 * read opens it. Gaps are detected at each tick and at each `pass`, which may come before the next tick. With a `tenure`, the gate is open
 * only for the tenure in which the read began: a read in one tenure does not open it for the next.
 */
export class FreshnessGate {
  readonly #clock: Clock;
  readonly #confirm: (signal: AbortSignal) => Promise<unknown>;
  readonly #tenure: () => number | undefined;
  #lastTickMs: number;
  #state: 'open' | 'closed' = 'closed';
  #openedIn: number | undefined;
  #opening: { readonly done: Promise<void>; readonly signal: AbortSignal } | undefined;

  /** `tenure` is the number of the current tenure of a Lease; undefined while this node does not hold it. */
  constructor(
    clock: Clock,
    confirm: (signal: AbortSignal) => Promise<unknown>,
    tenure: () => number | undefined = WITHOUT_LEASE,
  ) {
    this.#clock = clock;
    this.#confirm = confirm;
    this.#tenure = tenure;
    this.#lastTickMs = clock.monotonicMs();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#tick();
      await pause(this.#clock, TICK_MS, signal);
    }
  }

  /** Resolves when all state is known to be newer than the last gap. */
  async pass(signal: AbortSignal): Promise<void> {
    this.#tick();
    while (this.#state === 'closed') {
      const opening = (this.#opening ??= this.#begin(signal));
      try {
        await raceAbort(opening.done, signal);
      } catch (error) {
        // The caller that started the read was aborted; another caller starts a new one.
        if (signal.aborted || !opening.signal.aborted) throw error;
      }
    }
  }

  /**
   * Checks the gate without waiting, immediately before something starts that took long to prepare. AgentError 'Outdated' when it is closed:
   * pass it and plan again.
   */
  mustBeOpen(): void {
    this.#tick();
    if (this.#state === 'closed') throw new AgentError('Outdated', 'the state of the pod may be outdated');
  }

  #begin(signal: AbortSignal): { readonly done: Promise<void>; readonly signal: AbortSignal } {
    const done = this.#open(signal).finally(() => {
      this.#opening = undefined;
    });
    return { done, signal };
  }

  #tick(): void {
    const now = this.#clock.monotonicMs();
    if (now - this.#lastTickMs > MAX_GAP_MS || this.#tenure() !== this.#openedIn) this.#state = 'closed';
    this.#lastTickMs = now;
  }

  async #open(signal: AbortSignal): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    const tenure = this.#tenure();
    await this.#confirm(signal);
    this.#tick();
    // If the process froze during the read, the response is outdated.
    if (this.#clock.monotonicMs() - startedMs > MAX_GAP_MS) return;
    if (tenure === undefined || tenure !== this.#tenure()) return;
    this.#openedIn = tenure;
    this.#state = 'open';
  }
}
