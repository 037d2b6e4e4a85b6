import { raceAbort } from '@gantry/base';

/** Questions under way at once; more callers wait for the next one. */
const MAX_UNDER_WAY = 4;

/**
 * Lets readers that wait at the same moment share one linearizable question: only one that is not yet sent, since an answer
 * to one that was sent before may be older than the caller's arrival.
 */
export class CurrentRevision {
  readonly #ask: () => Promise<number>;
  #next: { readonly answer: Promise<number>; readonly send: () => void } | undefined;
  #underWay = 0;

  constructor(ask: () => Promise<number>) {
    this.#ask = ask;
  }

  get(signal: AbortSignal): Promise<number> {
    if (this.#next === undefined) {
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      const send = () => {
        this.#next = undefined;
        this.#underWay += 1;
        this.#ask()
          .then(resolve, reject)
          .finally(() => {
            this.#underWay -= 1;
            this.#next?.send();
          });
      };
      promise.catch(() => {}); // Every caller may have gone; those that are left get the error themselves.
      this.#next = { answer: promise, send };
      if (this.#underWay < MAX_UNDER_WAY) {
        const mine = this.#next;
        setImmediate(() => {
          if (this.#next === mine) mine.send();
        });
      }
    }
    return raceAbort(this.#next.answer, signal);
  }
}
