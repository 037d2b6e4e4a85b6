/** Receives how long keys wait in the queue and how long they are worked on, in seconds. */
export interface QueueObserver {
  waited(seconds: number): void;
  worked(seconds: number): void;
}

/** The state of a queue; counters start with the process. */
export interface QueueState {
  /** The controller's name. */
  readonly name: string;
  /** Keys that wait. */
  readonly depth: number;
  /** The number of keys added, without those that were already waiting. */
  readonly adds: number;
  /** The number of keys added again after a failure. */
  readonly retries: number;
  /** Seconds that the keys in work have been worked on: the sum, and the longest. */
  readonly unfinishedSeconds: number;
  readonly longestSeconds: number;
}

/** Measures the queue of one controller over all its terms. Work on a key ends when the cache shows the writes of its reconcile. */
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
