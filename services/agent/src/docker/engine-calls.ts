import { addAbortSignal, type Readable } from 'node:stream';
import type Docker from 'dockerode';
import { type Clock, DeadlineError, onAbort, raceAbort, withDeadline } from '@gantry/base';

/** The time limit of one request, as the kubelet's `runtimeRequestTimeout`. */
export const REQUEST_MS = 120_000;
/** How long a change continues after its signal was aborted, so that the next step sees the result of what the engine has begun. */
const LEAVE_MS = 5_000;

/** A call to the engine; `abort` cancels its request. */
type Call<T> = (docker: Docker, abort: AbortSignal) => Promise<T>;

/**
 * All calls to the engine go through this class. Each call ends with its signal or at a deadline, so an engine that accepts connections
 * but never responds cannot block the agent. Rejects with the client library's errors, or DeadlineError.
 */
export class EngineCalls {
  readonly #docker: Docker;
  readonly #clock: Clock;

  constructor(docker: Docker, clock: Clock) {
    this.#docker = docker;
    this.#clock = clock;
  }

  /** A call that changes nothing. It ends as soon as `signal` is aborted. */
  async read<T>(signal: AbortSignal, call: Call<T>, deadlineMs = REQUEST_MS): Promise<T> {
    signal.throwIfAborted();
    using deadline = this.#deadline(signal, deadlineMs);
    return await raceAbort(call(this.#docker, deadline), deadline);
  }

  /** A call that changes something. It ends a short time after `signal` is aborted, and does not start after that. */
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

  /** A call whose response is a stream. The deadline applies to the beginning of the response, `signal` to all of it. */
  async open<T extends Readable>(signal: AbortSignal, call: Call<T>): Promise<T> {
    signal.throwIfAborted();
    const request = new AbortController();
    using deadline = this.#deadline(signal, REQUEST_MS);
    deadline.addEventListener('abort', () => request.abort(deadline.reason), { once: true });
    const stream = await raceAbort(call(this.#docker, request.signal), deadline);
    addAbortSignal(signal, stream);
    return stream;
  }

  /** The chunks of a stream that may pause for at most `idleMs`; the reader's own pauses do not count. Destroys the stream at the end. */
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
