import { Duplex } from 'node:stream';
import type { CancelTimer, Clock } from '@gantry/base';
import type { RawData, WebSocket } from 'ws';

/** The form of messages: the channel number as a byte before the bytes, or as a digit before the bytes in Base64. */
export type ChannelCodec = 'binary' | 'base64';

export interface ChannelOptions {
  readonly codec: ChannelCodec;
  /** What the client may do with each channel, by number. */
  readonly channels: readonly ('reads' | 'writes' | 'both' | 'neither')[];
  /** Whether clients can half-close channels, as in `v5.channel.k8s.io`. */
  readonly halfClose: boolean;
  readonly clock: Clock;
}

/** Number of the channel that carries half-closes. */
const CLOSE_SIGNAL = 255;
/** Interval of pings. A failed write shows that the client has disconnected, also while nothing is read from it. */
const PING_MS = 30_000;
const BUFFER_BYTES = 64 * 1024;
/** Buffers up to this size are reused. The data of agents comes in parts of at most 256 KiB. */
const MAX_HELD_BYTES = 257 * 1024;

/** One channel. Reading returns the client's data; writing sends data to the client. */
export class Channel extends Duplex {
  readonly number: number;
  readonly #send: (channel: number, data: Buffer, done: (error?: Error) => void) => void;
  readonly #wanted: () => void;

  constructor(
    number: number,
    send: (channel: number, data: Buffer, done: (error?: Error) => void) => void,
    wanted: () => void,
  ) {
    super({ readableHighWaterMark: BUFFER_BYTES, writableHighWaterMark: BUFFER_BYTES, allowHalfOpen: true });
    this.number = number;
    this.#send = send;
    this.#wanted = wanted;
  }

  override _read(): void {
    this.#wanted();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#send(this.number, chunk, done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#wanted();
    done(error);
  }
}

/**
 * Channels over one WebSocket, as Kubernetes' subprotocol `channel.k8s.io` and its successors define them. A channel that is not read stops
 * the whole connection.
 */
export class ChannelConnection {
  readonly #socket: WebSocket;
  readonly #options: ChannelOptions;
  readonly #channels: readonly Channel[];
  readonly #full = new Set<Channel>();
  readonly #messages = new Map<number, Buffer>();
  readonly #halfClosed = new Set<Channel>();
  readonly #ended = new AbortController();
  #cancelPing: CancelTimer = () => undefined;

  constructor(socket: WebSocket, options: ChannelOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#channels = options.channels.map((_, number) => this.#channel(number));
    socket.on('message', (data) => this.#receive(data));
    // After a violation of the protocol the library closes the connection and emits 'close'.
    socket.on('error', () => undefined);
    socket.once('close', () => this.#closed());
    this.#ping();
  }

  /** Aborted when the connection has ended. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** The number of received bytes that were not read yet. */
  get queuedBytes(): number {
    return this.#channels.reduce((sum, { readableLength }) => sum + readableLength, 0);
  }

  /** The channel with this number in the option `channels`. */
  channel(number: number): Channel | undefined {
    return this.#channels[number];
  }

  /** Sends an empty message on a channel. */
  announce(channel: number): void {
    this.channel(channel)?.write(Buffer.alloc(0));
  }

  /** Ends the connection after all written data. */
  close(): void {
    // Only while it reads can the server notice that the client has ended the connection.
    this.#socket.resume();
    for (const channel of this.#channels) channel.destroy();
    this.#socket.close(1000);
  }

  #channel(number: number): Channel {
    const channel = new Channel(
      number,
      (of, data, done) => this.#send(of, data, done),
      () => this.#resume(channel),
    );
    // Writers get failures from their own calls. An 'error' event without a listener would end the process.
    channel.on('error', () => undefined);
    return channel;
  }

  #receive(raw: RawData): void {
    const message = Buffer.isBuffer(raw) ? raw : Array.isArray(raw) ? Buffer.concat(raw) : Buffer.from(raw);
    const [first] = message;
    if (first === undefined) return;
    const { codec, halfClose } = this.#options;
    if (halfClose && first === CLOSE_SIGNAL) {
      this.#halfClose(message);
      return;
    }
    const channel = this.#channels[codec === 'base64' ? first - 0x30 : first];
    if (channel === undefined || !this.#clientWrites(channel)) return;
    const data = codec === 'base64' ? Buffer.from(message.toString('latin1', 1), 'base64') : message.subarray(1);
    if (data.length === 0 || channel.push(data)) return;
    this.#full.add(channel);
    this.#socket.pause();
  }

  #halfClose(message: Buffer): void {
    const channel = this.#channels[message[1] ?? -1];
    if (message.length !== 2 || channel === undefined) this.#socket.close(1002, 'invalid stream close signal');
    else if (this.#clientWrites(channel)) {
      this.#halfClosed.add(channel);
      channel.push(null);
    }
  }

  /** Whether the client may write on the channel, and somebody reads it. */
  #clientWrites(channel: Channel): boolean {
    const use = this.#options.channels[channel.number];
    return (use === 'writes' || use === 'both') && !channel.destroyed && !this.#halfClosed.has(channel);
  }

  #resume(channel: Channel): void {
    if (this.#full.delete(channel) && this.#full.size === 0 && !this.#ended.signal.aborted) this.#socket.resume();
  }

  #send(channel: number, data: Buffer, done: (error?: Error) => void): void {
    if (this.#options.codec === 'base64') {
      this.#socket.send(`${channel}${data.toString('base64')}`, done);
      return;
    }
    const message = this.#messageFor(channel, data.length + 1);
    message[0] = channel;
    message.set(data, 1);
    this.#socket.send(message, done);
  }

  /**
   * A buffer for a message. Each channel reuses one buffer, because it writes a message only when the last one is sent. A new buffer for
   * each message would be most of a stream's garbage.
   */
  #messageFor(channel: number, length: number): Buffer {
    const held = this.#messages.get(channel);
    if (held !== undefined && held.length >= length) return held.subarray(0, length);
    const message = Buffer.allocUnsafeSlow(Math.min(Math.max(length, 1024), MAX_HELD_BYTES));
    if (message.length < length) return Buffer.allocUnsafe(length);
    this.#messages.set(channel, message);
    return message.subarray(0, length);
  }

  #ping(): void {
    this.#cancelPing = this.#options.clock.setTimer(PING_MS, () => {
      this.#socket.ping();
      this.#ping();
    });
  }

  #closed(): void {
    this.#cancelPing();
    this.#ended.abort();
    for (const channel of this.#channels) channel.destroy();
  }
}
