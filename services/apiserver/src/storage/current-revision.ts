import { type Clock, raceAbort } from '@gantry/base';

/** Questions under way at once; more callers wait for the next one. */
const MAX_UNDER_WAY = 4;

/**
 * Time between two questions where many read at once, so that each answers all who came within it: a question costs the members of
 * etcd more than the whole rest of a read. A reader who is alone, one read after the other, never waits.
 */
const PACE_MS = 6;

/**
 * Lets readers that wait at the same moment share one linearizable question: only one that is not yet sent, since an answer
 * to one that was sent before may be older than the caller's arrival.
 */
export class CurrentRevision {
  readonly #ask: () => Promise<number>;
  readonly #clock: Clock;
  #next: { readonly answer: Promise<number>; readonly send: () => void } | undefined;
  #underWay = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  /** Who waited for the question that was sent last, and who waits for the next one. */
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
            // A question that waits for its pace has a timer; one that has waited for a free place goes now.
            if (this.#underWay === MAX_UNDER_WAY - 1) this.#next?.send();
          });
      };
      promise.catch(() => {}); // Every caller may have gone; those that are left get the error themselves.
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
