import type { Clock } from '@gantry/base';

/** Lets a loop sleep until there is something to do, or its time has come. What is rung while it works is not lost. */
export class Wake {
  #rung = false;
  #end = (): void => undefined;

  readonly ring = (): void => {
    this.#rung = true;
    this.#end();
  };

  /** Resolves after `delayMs`, when it was rung since the last time, or when the signal is aborted. */
  wait(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.setTimer(Math.max(0, delayMs), () => this.#end());
    this.#end = (): void => {
      cancel();
      signal.removeEventListener('abort', this.#end);
      this.#end = () => undefined;
      this.#rung = false;
      resolve();
    };
    signal.addEventListener('abort', this.#end, { once: true });
    if (this.#rung || signal.aborted) this.#end();
    return promise;
  }
}
