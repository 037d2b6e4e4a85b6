interface Waiter {
  readonly isDone: () => boolean;
  readonly resolve: () => void;
}

/** Callers that wait for conditions, which are checked when `check` is called. */
export class Waiters {
  #waiters: Waiter[] = [];

  /** Resolves when the condition holds; rejects with the signal's reason. */
  when(isDone: () => boolean, signal: AbortSignal): Promise<void> {
    if (isDone()) return Promise.resolve();
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        isDone,
        resolve: () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      this.#waiters.push(waiter);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  check(): void {
    const done = this.#waiters.filter(({ isDone }) => isDone());
    if (done.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => !done.includes(waiter));
    for (const waiter of done) waiter.resolve();
  }
}
