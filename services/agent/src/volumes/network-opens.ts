import { type Clock, DeadlineError, raceAbort, withDeadline } from '@gantry/base';
import { AgentError } from '../runtime/agent-error.ts';

/** For one, with the time that it waits for its turn. */
const OPEN_MS = 30_000;

/**
 * Opens what is on servers of the network. Also one that has just answered may answer no more, by accident or not: then the kernel lets a
 * thread of this process wait without end, and there are few. So one open goes on at a time in a node, and no caller waits for it longer than
 * `OPEN_MS`. What hangs ends with the forced unmount of its volume.
 */
export class NetworkOpens {
  readonly #clock: Clock;
  #last: Promise<unknown> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** AgentError 'FailedMount' where it does not end in time. What comes of it later is disposed of before the next turn. */
  async use<T extends AsyncDisposable>(open: () => Promise<T>, signal: AbortSignal): Promise<T> {
    using deadline = withDeadline(this.#clock, signal, OPEN_MS);
    const turn = this.#after(this.#last, open, deadline);
    this.#last = turn.catch(() => undefined);
    try {
      return await raceAbort(turn, deadline);
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
      const message = `a server of NFS volumes does not answer: a subPath was not opened within ${OPEN_MS / 1000} s`;
      throw new AgentError('FailedMount', message, { cause: error });
    }
  }

  async #after<T extends AsyncDisposable>(before: Promise<unknown>, open: () => Promise<T>, deadline: AbortSignal) {
    await before;
    deadline.throwIfAborted();
    const opened = await open();
    if (deadline.aborted) await opened[Symbol.asyncDispose]();
    return opened;
  }
}
