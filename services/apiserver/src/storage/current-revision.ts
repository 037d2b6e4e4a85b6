import { type Clock, raceAbort } from '@gantry/base';

/** Maximum number of concurrent requests. Further callers wait for the next request. */
const MAX_UNDER_WAY = 4;

/**
 * Time between two requests while there are several readers. One request serves all readers that arrive in this time, since a request costs
 * the etcd members more than the rest of a read. A single reader that reads sequentially never waits.
 */
const PACE_MS = 6;

/**
 * Reads the newest revision. Concurrent readers share one linearizable request. A reader may join only a request that has not been sent
 * yet: the response of an earlier request may be older than the call of the reader.
 */
export class CurrentRevision {
  readonly #ask: () => Promise<number>;
  readonly #clock: Clock;
  #next: { readonly answer: Promise<number>; readonly send: () => void } | undefined;
  #underWay = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  /** The number of readers of the last sent request, and of the next one. */
  #lastReaders = 0;
  #readers = 0;

  constructor(clock: Clock, ask: () => Promise<number>) {
    this.#clock = clock;
    this.#ask = ask;
  }

  get(signal: AbortSignal): Promise<number> {
    if (this.#next === undefined) {
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      const send = () => {
        this.#next = undefined;
        this.#underWay += 1;
        this.#sentAt = this.#clock.monotonicMs();
        this.#lastReaders = this.#readers;
        this.#readers = 0;
        this.#ask()
          .then(resolve, reject)
          .finally(() => {
            this.#underWay -= 1;
            // A request that waits for `PACE_MS` has a timer. A request that has waited for a free slot is sent now.
            if (this.#underWay === MAX_UNDER_WAY - 1) this.#next?.send();
          });
      };
      promise.catch(() => {}); // All callers may be gone. Remaining callers receive the error themselves.
      this.#next = { answer: promise, send };
      if (this.#underWay < MAX_UNDER_WAY) this.#sendInTime(this.#next);
    }
    this.#readers += 1;
    return raceAbort(this.#next.answer, signal);
  }

  #sendInTime(next: { readonly send: () => void }): void {
    const send = () => {
      if (this.#next === next) next.send();
    };
    const alone = this.#underWay === 0 && this.#lastReaders <= 1;
    const wait = alone ? 0 : this.#sentAt + PACE_MS - this.#clock.monotonicMs();
    if (wait > 0) this.#clock.setTimer(wait, send);
    else setImmediate(send);
  }
}
