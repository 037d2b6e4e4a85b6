import { addAbortSignal, type Readable } from 'node:stream';
import type Docker from 'dockerode';
import { type Clock, DeadlineError, onAbort, raceAbort, withDeadline } from '@gantry/base';

/** For one request, as kubelet's `runtimeRequestTimeout`. */
export const REQUEST_MS = 120_000;
/** How long a change goes on after its signal was aborted: what the engine has begun should be seen when the next step looks. */
const LEAVE_MS = 5_000;

/** One call to the engine; `abort` cancels its request. */
type Call<T> = (docker: Docker, abort: AbortSignal) => Promise<T>;

/**
 * The only way to the engine: every call ends with its signal or at a deadline, so that an engine that accepts connections and never
 * answers holds nothing up. Errors are those of the client library, or DeadlineError.
 */
export class EngineCalls {
  readonly #docker: Docker;
  readonly #clock: Clock;

  constructor(docker: Docker, clock: Clock) {
    this.#docker = docker;
    this.#clock = clock;
  }

  /** A call that changes nothing. It is left at once when `signal` is aborted. */
  async read<T>(signal: AbortSignal, call: Call<T>, deadlineMs = REQUEST_MS): Promise<T> {
    signal.throwIfAborted();
    using deadline = this.#deadline(signal, deadlineMs);
    return await raceAbort(call(this.#docker, deadline), deadline);
  }

  /** A call that changes something. It is left a short time after `signal` is aborted, and not begun after that. */
  async change<T>(signal: AbortSignal, call: Call<T>, deadlineMs = REQUEST_MS): Promise<T> {
    signal.throwIfAborted();
    const leaving = new AbortController();
    let cancel: () => void = () => undefined;
    using _ = onAbort(signal, () => {
      cancel = this.#clock.setTimer(LEAVE_MS, () => leaving.abort(signal.reason));
    });
    try {
      using deadline = this.#deadline(leaving.signal, deadlineMs);
      return await raceAbort(call(this.#docker, deadline), deadline);
    } finally {
      cancel();
    }
  }

  /** A call with a stream as its response: the deadline is for the beginning of the response, `signal` for all of it. */
  async open<T extends Readable>(signal: AbortSignal, call: Call<T>): Promise<T> {
    signal.throwIfAborted();
    const request = new AbortController();
    using deadline = this.#deadline(signal, REQUEST_MS);
    deadline.addEventListener('abort', () => request.abort(deadline.reason), { once: true });
    const stream = await raceAbort(call(this.#docker, request.signal), deadline);
    addAbortSignal(signal, stream);
    return stream;
  }

  /** The chunks of a stream that never pauses longer than `idleMs`, but where its reader does. Destroys the stream at its end. */
  async *chunks(stream: Readable, signal: AbortSignal, idleMs: number): AsyncIterable<Uint8Array> {
    const iterator = stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
    try {
      for (;;) {
        using deadline = this.#deadline(signal, idleMs);
        const next = await raceAbort(iterator.next(), deadline);
        if (next.done === true) return;
        deadline[Symbol.dispose]();
        yield next.value;
      }
    } finally {
      stream.destroy();
    }
  }

  #deadline(signal: AbortSignal, ms: number): AbortSignal & Disposable {
    const controller = new AbortController();
    const deadline = withDeadline(this.#clock, signal, ms);
    onAbort(deadline, () => {
      const isLate = deadline.reason instanceof DeadlineError && !signal.aborted;
      controller.abort(
        isLate ? new DeadlineError(`the engine has not answered within ${ms / 1000} s`) : deadline.reason,
      );
    });
    return Object.assign(controller.signal, { [Symbol.dispose]: () => deadline[Symbol.dispose]() });
  }
}
