/** Takes note of how long keys wait and are worked on, in seconds. */
export interface QueueObserver {
  waited(seconds: number): void;
  worked(seconds: number): void;
}

/** A queue at one moment, and since the process began. */
export interface QueueState {
  /** Of the controller. */
  readonly name: string;
  /** Keys that wait. */
  readonly depth: number;
  /** How often a key was added that was not waiting already. */
  readonly adds: number;
  /** How often a key was added again after a failure. */
  readonly retries: number;
  /** How long the keys that are worked on now have been, all together and at most, in seconds. */
  readonly unfinishedSeconds: number;
  readonly longestSeconds: number;
}

/** Measures the queue of one controller over all its terms. A key is worked on until the cache shows what its reconcile wrote. */
export class QueueMeter {
  readonly #name: string;
  readonly #observer: QueueObserver | undefined;
  readonly #startedMs = new Map<string, number>();
  #depth = 0;
  #adds = 0;
  #retries = 0;

  constructor(name: string, observer?: QueueObserver) {
    this.#name = name;
    this.#observer = observer;
  }

  added(): void {
    this.#adds += 1;
  }

  retried(): void {
    this.#retries += 1;
  }

  /** How many keys wait now. */
  waiting(depth: number): void {
    this.#depth = depth;
  }

  taken(id: string, addedMs: number, nowMs: number): void {
    this.#startedMs.set(id, nowMs);
    this.#observer?.waited((nowMs - addedMs) / 1000);
  }

  done(id: string, nowMs: number): void {
    const startedMs = this.#startedMs.get(id);
    if (startedMs === undefined) return;
    this.#startedMs.delete(id);
    this.#observer?.worked((nowMs - startedMs) / 1000);
  }

  state(nowMs: number): QueueState {
    let sum = 0;
    let longest = 0;
    for (const startedMs of this.#startedMs.values()) {
      const seconds = (nowMs - startedMs) / 1000;
      sum += seconds;
      longest = Math.max(longest, seconds);
    }
    const counts = { depth: this.#depth, adds: this.#adds, retries: this.#retries };
    return { name: this.#name, ...counts, unfinishedSeconds: sum, longestSeconds: longest };
  }
}
