import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2';
import type { DescMessage, Message } from '@bufbuild/protobuf';
import { youngCollections } from '@gantry/base';
import { MessageStream } from '@gantry/service';
import { status } from '@grpc/grpc-js';

/** The requests and responses of a method. */
interface StreamMethod {
  readonly input: DescMessage;
  readonly output: DescMessage;
}

/** The error with which a call has ended. */
export class AgentCallError extends Error {
  override readonly name = 'AgentCallError';
  /** Of gRPC. */
  readonly code: number;
  readonly details: string;
  /** The Status that the agent has sent with it, in JSON. */
  readonly carried: Buffer | undefined;

  constructor(code: number, details: string, carried?: Buffer) {
    super(`${status[code] ?? code}: ${details}`);
    this.code = code;
    this.details = details;
    this.carried = carried;
  }
}

const CANCELLED = new AgentCallError(status.CANCELLED, 'the call was cancelled');

/** Agents send messages of at most 1 MiB of data. */
const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;
const OK = 200;

/** One stream of messages in both directions, with the receiver's back-pressure in both. */
export class AgentCall<In extends Message, Out extends Message> {
  readonly #stream: ClientHttp2Stream;
  readonly #messages: MessageStream<Out, In>;
  readonly #signal: AbortSignal;
  /** The stream itself may stay until the agent has read what was sent. */
  readonly #onAbort = (): void => {
    this.#stream.close(constants.NGHTTP2_CANCEL);
    this.#messages.discard();
  };
  #httpStatus: number | undefined;
  /** Of the call: in its last headers, which are its first when nothing else comes. */
  #trailers: IncomingHttpHeaders = {};

  /** `stream` has just begun; `signal` cancels the call. */
  constructor(stream: ClientHttp2Stream, { input, output }: StreamMethod, signal: AbortSignal) {
    this.#stream = stream;
    this.#signal = signal;
    this.#messages = new MessageStream(stream, {
      reads: output,
      writes: input,
      maxBytes: MAX_MESSAGE_BYTES,
      onBytes: (bytes) => youngCollections.passed(bytes),
    });
    stream.once('response', (headers) => {
      this.#httpStatus = headers[':status'];
      this.#trailers = headers;
    });
    stream.once('trailers', (trailers) => {
      this.#trailers = trailers;
    });
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /**
   * The next message; undefined at the end. Its bytes are valid until the next is asked for; the bytes of one part are a stream, whatever
   * the messages that they come in. Rejects with AgentCallError. One call at a time.
   */
  async next(): Promise<Out | undefined> {
    let message: Out | undefined;
    try {
      message = await this.#messages.next();
    } catch (error) {
      throw this.#failure(error as Error);
    }
    if (message === undefined) this.#checkStatus();
    return message;
  }

  /** Resolves when the message has gone out, or the call has ended: its end is what `next` says. In the order of the calls. */
  async send(message: In): Promise<void> {
    try {
      await this.#messages.write(message);
    } catch {
      // `next` says why.
    }
  }

  /** Ends the call, of which nothing else is wanted. */
  cancel(): void {
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#onAbort();
  }

  #failure(error: Error): AgentCallError {
    if (this.#signal.aborted) return CANCELLED;
    return brokenOff(error);
  }

  #checkStatus(): void {
    const { 'grpc-status': code, 'grpc-message': text = '', 'gantry-status-bin': carried } = this.#trailers;
    if (this.#httpStatus === OK && code === String(status.OK)) return;
    if (this.#signal.aborted) throw CANCELLED;
    if (this.#httpStatus !== undefined && this.#httpStatus !== OK) {
      throw new AgentCallError(status.UNAVAILABLE, `the agent has answered with HTTP status ${this.#httpStatus}`);
    }
    if (code === undefined) throw brokenOff();
    throw new AgentCallError(
      Number(code),
      decoded(String(text)),
      typeof carried === 'string' ? Buffer.from(carried, 'base64') : undefined,
    );
  }
}

function brokenOff(error?: Error): AgentCallError {
  const why = error === undefined ? '' : `: ${error.message}`;
  return new AgentCallError(status.UNAVAILABLE, `the agent has broken off the call${why}`);
}

/** gRPC sends messages percent-encoded. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // As it came.
    return text;
  }
}
