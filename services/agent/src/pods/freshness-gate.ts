import { type Clock, pause, raceAbort } from '@gantry/base';

const TICK_MS = 500;
/** A process whose ticks have a gap this long was stopped or frozen: its knowledge may be old. */
const MAX_GAP_MS = 3_000;

/**
 * Keeps actions from being based on old knowledge: closed at first and after every gap in this process's own time, opened
 * by a linearizable read. Gaps are looked for at each tick and at each pass, which may come before the next tick.
 */
export class FreshnessGate {
  readonly #clock: Clock;
  readonly #confirm: (signal: AbortSignal) => Promise<unknown>;
  #lastTickMs: number;
  #state: 'open' | 'closed' = 'closed';
  #opening: { readonly done: Promise<void>; readonly signal: AbortSignal } | undefined;

  constructor(clock: Clock, confirm: (signal: AbortSignal) => Promise<unknown>) {
    this.#clock = clock;
    this.#confirm = confirm;
    this.#lastTickMs = clock.monotonicMs();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#tick();
      await pause(this.#clock, TICK_MS, signal);
    }
  }

  /** Resolves when all knowledge is confirmed to be newer than the last gap. */
  async pass(signal: AbortSignal): Promise<void> {
    this.#tick();
    while (this.#state === 'closed') {
      const opening = (this.#opening ??= this.#begin(signal));
      try {
        await raceAbort(opening.done, signal);
      } catch (error) {
        // The caller that began the read may have been aborted; the others begin another one.
        if (signal.aborted || !opening.signal.aborted) throw error;
      }
    }
  }

  #begin(signal: AbortSignal): { readonly done: Promise<void>; readonly signal: AbortSignal } {
    const done = this.#open(signal).finally(() => {
      this.#opening = undefined;
    });
    return { done, signal };
  }

  #tick(): void {
    const now = this.#clock.monotonicMs();
    if (now - this.#lastTickMs > MAX_GAP_MS) this.#state = 'closed';
    this.#lastTickMs = now;
  }

  async #open(signal: AbortSignal): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    await this.#confirm(signal);
    this.#tick();
    // After a freeze during the read its response is old.
    if (this.#clock.monotonicMs() - startedMs <= MAX_GAP_MS) this.#state = 'open';
  }
}
