import type { ClientDuplexStream } from '@grpc/grpc-js';

/** One stream of messages in both directions, with the receiver's back-pressure in both. */
export class AgentCall<In, Out> {
  readonly #stream: ClientDuplexStream<In, Out>;
  readonly #messages: AsyncIterator<Out>;
  readonly #signal: AbortSignal;
  readonly #onAbort: () => void;

  /** `signal` cancels the call. */
  constructor(stream: ClientDuplexStream<In, Out>, signal: AbortSignal) {
    this.#stream = stream;
    this.#signal = signal;
    // Readers hear of it; without a listener it would end the process when there is none.
    stream.on('error', () => undefined);
    this.#messages = stream[Symbol.asyncIterator]() as AsyncIterator<Out>;
    this.#onAbort = () => stream.cancel();
    if (signal.aborted) stream.cancel();
    else signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** The next message; undefined at the end. Rejects with the error of gRPC. */
  async next(): Promise<Out | undefined> {
    const { done, value } = await this.#messages.next();
    return done === true ? undefined : value;
  }

  /** Resolves when more may be sent, at once when the call has ended: its end is what `next` says. */
  async send(message: In): Promise<void> {
    const stream = this.#stream;
    if (stream.destroyed || !stream.writable || stream.write(message)) return;
    await new Promise<void>((resolve) => {
      const settle = (): void => {
        for (const event of ['drain', 'close', 'error'] as const) stream.off(event, settle);
        resolve();
      };
      for (const event of ['drain', 'close', 'error'] as const) stream.on(event, settle);
    });
  }

  /** Ends the call, of which nothing else is wanted. */
  cancel(): void {
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#stream.cancel();
  }
}
