import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type {
  DescMessage,
  DescMethodBiDiStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import { Client, type ClientDuplexStream, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { type Clock, onAbort } from '@gantry/base';
import { liveChannel, type Liveness, ReconnectingClient, type TlsMaterial } from '@gantry/tls';
import { EtcdError } from '../etcd-error.ts';
import { fromServiceError } from './service-error.ts';

/** How one call is made. `effect`: a read may be repeated; a write may not. */
export interface UnaryOptions {
  readonly effect: 'read' | 'write';
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** A stream whose messages are written and read as they are. */
export type Stream<I extends DescMessage, O extends DescMessage> = ClientDuplexStream<MessageShape<I>, MessageShape<O>>;

/**
 * Pings detect a frozen member within 3 s, in which this process runs, while a call or a watch is open. Otherwise no pings are sent: etcd
 * would treat them as an attack and close the connection, whatever its minimum interval.
 */
const LIVENESS: Liveness = { pingMs: 1500, silenceMs: 3000 };

/** Reconnecting starts at once, with short delays. Message size is not limited, because a range may contain all keys. */
const CHANNEL_OPTIONS = {
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.min_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 1000,
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  // Turns off records of every call and connection; they are not used.
  'grpc.enable_channelz': 0,
} as const;

/** A connection to one member. Nothing is retried here. */
export class MemberConnection {
  /** `https://etcd-0:2379`. */
  readonly endpoint: string;
  readonly #clock: Clock;
  #connection: ReconnectingClient;

  constructor(endpoint: string, tls: TlsMaterial | undefined, clock: Clock) {
    this.endpoint = endpoint;
    this.#clock = clock;
    this.#connection = connect(endpoint, tls, clock);
  }

  /** Reconnects with other TLS material. Open calls continue; streams of the old connection end. */
  useTls(tls: TlsMaterial): void {
    const old = this.#connection;
    this.#connection = connect(this.endpoint, tls, this.#clock);
    old.close();
  }

  async call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    payload: MessageInitShape<I>,
    { effect, signal, timeoutMs }: UnaryOptions,
  ): Promise<MessageShape<O>> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<MessageShape<O>>();
    const sent = this.#connection.client.makeUnaryRequest<MessageShape<I>, MessageShape<O>>(
      pathOf(method),
      encoder(method.input),
      decoder(method.output),
      create(method.input, payload),
      new Metadata(),
      { deadline: this.#clock.now() + timeoutMs },
      (error, response) => {
        if (error !== null) reject(fromServiceError(error, effect, this.endpoint));
        else if (response === undefined) reject(new EtcdError('outcome-unknown', `no response (${this.endpoint})`));
        else resolve(response);
      },
    );
    using _ = onAbort(signal, () => {
      reject(abortReason(signal));
      sent.cancel();
    });
    return await promise;
  }

  /** Reads a stream of responses. Leaving the loop cancels it. */
  async *download<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    payload: MessageInitShape<I>,
    { signal, timeoutMs }: Omit<UnaryOptions, 'effect'>,
  ): AsyncGenerator<MessageShape<O>> {
    signal.throwIfAborted();
    const stream = this.#connection.client.makeServerStreamRequest<MessageShape<I>, MessageShape<O>>(
      pathOf(method),
      encoder(method.input),
      decoder(method.output),
      create(method.input, payload),
      new Metadata(),
      { deadline: this.#clock.now() + timeoutMs },
    );
    using _ = onAbort(signal, () => stream.cancel());
    try {
      yield* stream as AsyncIterable<MessageShape<O>>;
    } catch (error) {
      if (signal.aborted) throw abortReason(signal);
      throw isServiceError(error) ? fromServiceError(error, 'read', this.endpoint) : error;
    } finally {
      stream.cancel();
    }
  }

  /** Opens a stream. The caller cancels it after use. */
  stream<I extends DescMessage, O extends DescMessage>(method: DescMethodBiDiStreaming<I, O>): Stream<I, O> {
    const metadata = new Metadata();
    // A member without a leader ends the stream instead of staying silent.
    metadata.set('hasleader', 'true');
    const [encode, decode] = [encoder(method.input), decoder(method.output)];
    const stream = this.#connection.client.makeBidiStreamRequest<MessageShape<I>, MessageShape<O>>(
      pathOf(method),
      encode,
      decode,
      metadata,
      {},
    );
    stream.on('error', () => {}); // The stream's reader gets the error as well; without a listener it would end the process.
    return stream;
  }

  close(): void {
    this.#connection.close();
  }
}

function connect(endpoint: string, tls: TlsMaterial | undefined, clock: Clock): ReconnectingClient {
  const secure = tls === undefined ? credentials.createInsecure() : credentials.createSsl(tls.ca, tls.key, tls.cert);
  const address = endpoint.replace(/^https?:\/\//, '');
  return new ReconnectingClient((options) => {
    const live = liveChannel(secure, LIVENESS, clock);
    return new Client(address, live.credentials, { ...CHANNEL_OPTIONS, ...live.options, ...options });
  }, clock);
}

function pathOf({ parent, name }: DescMethodUnary | DescMethodServerStreaming | DescMethodBiDiStreaming): string {
  return `/${parent.typeName}/${name}`;
}

function encoder<T extends DescMessage>(type: T): (message: MessageShape<T>) => Buffer {
  return (message) => {
    const bytes = toBinary(type, message);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
}

function decoder<T extends DescMessage>(type: T): (bytes: Buffer) => MessageShape<T> {
  return (bytes) => fromBinary(type, bytes);
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error;
}

function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error
    ? signal.reason
    : new EtcdError('unavailable', 'aborted', { cause: signal.reason });
}
