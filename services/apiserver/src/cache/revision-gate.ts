import { type CancelTimer, type Clock, setPatientTimer } from '@gantry/base';

const ASK_FIRST_MS = 5;
const ASK_EVERY_MS = 100;

interface Waiter {
  readonly revision: number;
  readonly done: (reached: boolean) => void;
}

/** Keeps the reached revision and lets readers wait for a later one. Requests progress notifications while a reader waits. */
export class RevisionGate {
  readonly #clock: Clock;
  readonly #askProgress: () => void;
  readonly #waiters = new Set<Waiter>();
  #revision = 0;
  #cancelAsk: CancelTimer | undefined;

  constructor(clock: Clock, askProgress: () => void) {
    this.#clock = clock;
    this.#askProgress = askProgress;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Sets the reached revision. Ignores a lower one. */
  advance(revision: number): void {
    if (revision <= this.#revision) return;
    this.#revision = revision;
    for (const waiter of [...this.#waiters]) if (waiter.revision <= revision) waiter.done(true);
  }

  /**
   * Waits until `revision` is reached; false after `timeoutMs`, of which time without a processor counts little: what has arrived meanwhile is
   * read after it. Rejects when aborted.
   */
  reach(revision: number, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    if (revision <= this.#revision) return Promise.resolve(true);
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const end = () => {
        cancel();
        signal.removeEventListener('abort', onAbort);
        this.#waiters.delete(waiter);
        if (this.#waiters.size === 0) this.#stopAsking();
      };
      const onAbort = () => {
        end();
        reject(signal.reason);
      };
      const waiter: Waiter = {
        revision,
        done: (reached) => {
          end();
          resolve(reached);
        },
      };
      const cancel = setPatientTimer(this.#clock, timeoutMs, () => waiter.done(false));
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
      this.#cancelAsk ??= this.#clock.setTimer(ASK_FIRST_MS, () => this.#ask());
    });
  }

  #ask(): void {
    this.#askProgress();
    this.#cancelAsk = this.#clock.setTimer(ASK_EVERY_MS, () => this.#ask());
  }

  #stopAsking(): void {
    this.#cancelAsk?.();
    this.#cancelAsk = undefined;
  }
}
