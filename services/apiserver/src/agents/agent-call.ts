import { type ChannelInterface, Metadata, status, type StatusObject } from '@grpc/grpc-js';

/** A method whose requests and responses are streams. */
export interface StreamMethod<In, Out> {
  readonly path: string;
  readonly requestSerialize: (message: In) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Out;
}

type Call = ReturnType<ChannelInterface['createCall']>;

/** The error with which gRPC has ended a call. */
export class AgentCallError extends Error {
  override readonly name = 'AgentCallError';
  /** Of gRPC. */
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;

  constructor({ code, details, metadata }: StatusObject) {
    super(`${status[code]}: ${details}`);
    this.code = code;
    this.details = details;
    this.metadata = metadata;
  }
}

/** Messages of together this many bytes wait for their reader. More would outlive the collections of the young generation. */
const READ_AHEAD_BYTES = 16 * 1024;

/**
 * One stream of messages in both directions, with the receiver's back-pressure in both. The library's own streams hold 16 messages in
 * each direction, whatever their size.
 */
export class AgentCall<In, Out> {
  readonly #call: Call;
  readonly #method: StreamMethod<In, Out>;
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => this.#call.cancelWithStatus(status.CANCELLED, 'the call was cancelled');
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #reading: 'asked' | 'idle' = 'idle';
  #ended: StatusObject | undefined;
  #changed = (): void => undefined;
  #sent: Promise<void> = Promise.resolve();
  #sentOrEnded = (): void => undefined;

  /** Begins the call; `signal` cancels it. */
  constructor(channel: ChannelInterface, method: StreamMethod<In, Out>, signal: AbortSignal) {
    this.#method = method;
    this.#signal = signal;
    this.#call = channel.createCall(method.path, Number.POSITIVE_INFINITY, null, null, null);
    this.#call.start(new Metadata(), {
      onReceiveMetadata: () => undefined,
      onReceiveMessage: (bytes: Buffer) => this.#receive(bytes),
      onReceiveStatus: (ended) => this.#end(ended),
    });
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** The next message; undefined at the end. Rejects with AgentCallError. One call at a time. */
  async next(): Promise<Out | undefined> {
    this.#readAhead();
    while (this.#waiting.length === 0 && this.#ended === undefined) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
    const bytes = this.#waiting.shift();
    if (bytes !== undefined) {
      this.#waitingBytes -= bytes.length;
      return this.#method.responseDeserialize(bytes);
    }
    if (this.#ended?.code === status.OK) return undefined;
    throw new AgentCallError(this.#ended as StatusObject);
  }

  /** Resolves when the message has gone out, or the call has ended: its end is what `next` says. In the order of the calls. */
  send(message: In): Promise<void> {
    this.#sent = this.#sent.then(() => this.#write(message));
    return this.#sent;
  }

  /** Ends the call, of which nothing else is wanted. */
  cancel(): void {
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#onAbort();
  }

  #write(message: In): Promise<void> {
    return new Promise((resolve) => {
      this.#sentOrEnded = resolve;
      if (this.#ended !== undefined) resolve();
      else this.#call.sendMessageWithContext({ callback: () => resolve() }, this.#method.requestSerialize(message));
    });
  }

  #readAhead(): void {
    if (this.#reading === 'asked' || this.#ended !== undefined || this.#waitingBytes > READ_AHEAD_BYTES) return;
    this.#reading = 'asked';
    this.#call.startRead();
  }

  #receive(bytes: Buffer): void {
    this.#reading = 'idle';
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#changed();
    this.#readAhead();
  }

  #end(ended: StatusObject): void {
    this.#ended ??= ended;
    this.#changed();
    this.#sentOrEnded();
  }
}
