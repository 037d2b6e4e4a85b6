/** A server's document, fetched for each caller. Callers during a fetch share the next one. */
export class FreshDocument<T> {
  readonly #fetch: () => Promise<T>;
  #running: Promise<unknown> | undefined;
  #next: Promise<T> | undefined;

  constructor(fetch: () => Promise<T>) {
    this.#fetch = fetch;
  }

  /** As it is now or later, never as it was before. */
  read(): Promise<T> {
    if (this.#running === undefined) return this.#start();
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      return this.#start();
    });
    return this.#next;
  }

  #start(): Promise<T> {
    const reading = this.#fetch();
    const running = reading.then(
      () => undefined,
      () => undefined,
    );
    this.#running = running;
    void running.then(() => {
      if (this.#running === running) this.#running = undefined;
    });
    return reading;
  }
}
