import type { Duplex } from 'node:stream';
import type { CancelTimer, Clock } from '@gantry/base';
import {
  CONTROL,
  controlFrame,
  dataHeader,
  FIN,
  type Frame,
  FrameReader,
  numberAt,
  numbers,
  UNIDIRECTIONAL,
} from './frames.ts';
import { type Headers, HeaderReader, HeaderWriter } from './header-blocks.ts';
import { RESET, SpdyError } from './spdy-error.ts';
import { SpdyStream, type StreamLink } from './spdy-stream.ts';

/** Limits of one connection. */
export interface SpdyLimits {
  readonly maxStreams: number;
  readonly maxControlBytes: number;
  /** Of one uncompressed header block. */
  readonly maxHeaderBytes: number;
}

export interface SpdyOptions {
  /** The connection, from the first byte of SPDY on. */
  readonly transport: Duplex;
  readonly clock: Clock;
  /** Whether a stream with these headers may be opened. The client gets the answer before `onStream` is called. */
  readonly accepts: (headers: Headers, id: number) => boolean;
  readonly onStream: (stream: SpdyStream) => void;
  readonly limits?: SpdyLimits;
}

/** Enough for 500 forwarded connections. Control frames of Kubernetes' clients have a few hundred bytes. */
const LIMITS: SpdyLimits = { maxStreams: 1000, maxControlBytes: 16 * 1024, maxHeaderBytes: 16 * 1024 };
/** Interval of pings. A failed write shows that the client has disconnected, also while nothing is read from it. */
const PING_MS = 30_000;
/** Time limit for a client to read the last frames and close the connection. */
const CLOSE_MS = 5000;
const MAX_DATA_BYTES = 1024 * 1024;
/** Smaller data is copied behind its header and written once, because each write to a WebSocket is a separate message. */
const COPIED_BYTES = 4096;

/**
 * The server's side of one SPDY/3.1 connection, as Kubernetes' clients use it: they open streams, and neither send nor obey WINDOW_UPDATE.
 * So the only back-pressure is that of the transport, and a stream that is not read stops the whole connection, as in the kubelet.
 */
export class SpdyConnection implements StreamLink {
  readonly #transport: Duplex;
  readonly #clock: Clock;
  readonly #options: SpdyOptions;
  readonly #limits: SpdyLimits;
  readonly #frames: FrameReader;
  readonly #headersIn: HeaderReader;
  readonly #headersOut = new HeaderWriter();
  readonly #streams = new Map<number, SpdyStream>();
  readonly #blocked = new Set<(error?: Error) => void>();
  readonly #timers = new Set<CancelTimer>();
  #lastStream = 0;
  #state: 'open' | 'closing' = 'open';

  constructor(options: SpdyOptions) {
    this.#options = options;
    this.#transport = options.transport;
    this.#clock = options.clock;
    this.#limits = options.limits ?? LIMITS;
    this.#frames = new FrameReader(this.#limits.maxControlBytes);
    this.#headersIn = new HeaderReader(this.#limits.maxHeaderBytes);
  }

  /** Reads frames until client or server has ended the connection. Never rejects, because a client may disconnect at any byte. */
  async serve(): Promise<void> {
    const unblock = (): void => this.#unblock();
    this.#transport.on('drain', unblock);
    this.#transport.on('close', unblock);
    this.#transport.on('error', unblock);
    this.#ping(2);
    try {
      for await (const bytes of this.#transport.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        for (const frame of this.#frames.read(bytes)) {
          const handled = this.#handle(frame);
          if (handled !== undefined) await handled;
        }
      }
    } catch (error) {
      // Other errors come from the transport, which has then ended.
      if (error instanceof SpdyError) await this.#breakOff();
    } finally {
      for (const cancel of this.#timers) cancel();
      for (const stream of this.#streams.values()) stream.destroy();
      this.#headersIn.close();
      this.#headersOut.close();
      this.#transport.destroy();
      this.#unblock();
    }
  }

  /** Resets the remaining streams, and ends the connection when the client has read everything. */
  close(): void {
    if (this.#state === 'closing') return;
    this.#state = 'closing';
    for (const stream of this.#streams.values()) stream.destroy();
    void this.#writeControl(CONTROL.goAway, numbers(this.#lastStream, 0));
    this.#transport.end();
    // Reading continues: if a connection is closed with unread bytes, the client loses the bytes that it has not read.
    this.#timers.add(this.#clock.setTimer(CLOSE_MS, () => this.#transport.destroy()));
  }

  /** Reports an error of the protocol to the client. Resolves when the report is sent, or the client does not read it in time. */
  async #breakOff(): Promise<void> {
    void this.#writeControl(CONTROL.goAway, numbers(this.#lastStream, RESET.protocolError));
    this.#state = 'closing';
    this.#timers.add(this.#clock.setTimer(CLOSE_MS, () => this.#transport.destroy()));
    await new Promise((resolve) => this.#transport.end(resolve));
  }

  send(id: number, data: Buffer, fin: 'fin' | 'more', done: (error?: Error) => void): void {
    const transport = this.#transport;
    if (this.#state === 'closing' || transport.destroyed || !transport.writable) {
      done(new SpdyError('the connection has ended'));
      return;
    }
    const parts: Uint8Array[] = [];
    for (let at = 0; at < data.length; at += MAX_DATA_BYTES) {
      const part = data.subarray(at, at + MAX_DATA_BYTES);
      const header = dataHeader(id, 0, part.length);
      if (part.length < COPIED_BYTES) parts.push(Buffer.concat([header, part]));
      else parts.push(header, part);
    }
    if (fin === 'fin') parts.push(dataHeader(id, FIN, 0));
    this.#writeAll(parts, done);
  }

  /** `done` is called when everything is sent, or the connection has ended. */
  #writeAll(parts: readonly Uint8Array[], done: (error?: Error) => void): void {
    const last = parts.at(-1);
    if (last === undefined) {
      done();
      return;
    }
    this.#blocked.add(done);
    const sent = () => {
      if (this.#blocked.delete(done)) done(this.#endOf());
    };
    this.#transport.cork();
    for (const part of parts.slice(0, -1)) this.#transport.write(part);
    this.#transport.write(last, sent);
    this.#transport.uncork();
  }

  closed(id: number, how: 'ended' | 'abandoned'): void {
    if (this.#streams.delete(id) && how === 'abandoned') void this.#reset(id, RESET.cancel);
  }

  #handle(frame: Frame): Promise<void> | undefined {
    if (frame.kind === 'data') {
      const stream = this.#streams.get(frame.stream);
      // Data that was sent before the client knew that the stream had ended.
      if (stream === undefined) return undefined;
      const full = stream.receive(frame.data);
      if ((frame.flags & FIN) !== 0) stream.receiveEnd();
      return full;
    }
    return this.#control(frame.type, frame.flags, frame.payload);
  }

  #control(type: number, flags: number, payload: Buffer): Promise<void> | undefined {
    switch (type) {
      case CONTROL.synStream:
        return this.#open(flags, payload);
      case CONTROL.headers:
        // Kubernetes ignores these headers, but they are part of zlib's state.
        return this.#headersIn.read(payload.subarray(4)).then(() => undefined);
      case CONTROL.rstStream:
        this.#streams.get(numberAt(payload, 0))?.receiveReset();
        return undefined;
      case CONTROL.ping: {
        const id = payload.length === 4 ? payload.readUInt32BE(0) : 0;
        // Even numbers are responses to our pings.
        return id % 2 === 1 ? this.#writeControl(CONTROL.ping, numbers(id)) : undefined;
      }
      case CONTROL.synReply:
        throw new SpdyError('no stream was opened to the client');
      default:
        // SETTINGS, WINDOW_UPDATE and GOAWAY have no effect here. Unknown frames must be ignored.
        return undefined;
    }
  }

  async #open(flags: number, payload: Buffer): Promise<void> {
    const id = numberAt(payload, 0);
    if (payload.length < 10) throw new SpdyError('SYN_STREAM is too short');
    const headers = await this.#headersIn.read(payload.subarray(10));
    const refusal = this.#refusalOf(id, flags, headers);
    if (id > this.#lastStream) this.#lastStream = id;
    if (refusal !== undefined) return this.#reset(id, refusal);
    const block = await this.#headersOut.write(new Map());
    await this.#writeControl(CONTROL.synReply, Buffer.concat([numbers(id), block]));
    const stream = new SpdyStream(id, headers, this);
    // Writers get failures from their own calls. An 'error' event without a listener would end the process.
    stream.on('error', () => undefined);
    this.#streams.set(id, stream);
    if ((flags & FIN) !== 0) stream.receiveEnd();
    this.#options.onStream(stream);
  }

  #refusalOf(id: number, flags: number, headers: Headers): number | undefined {
    if (id % 2 === 0 || id <= this.#lastStream || (flags & UNIDIRECTIONAL) !== 0) return RESET.protocolError;
    if (this.#state === 'closing' || this.#streams.size >= this.#limits.maxStreams) return RESET.refusedStream;
    return this.#options.accepts(headers, id) ? undefined : RESET.refusedStream;
  }

  #reset(id: number, status: number): Promise<void> | undefined {
    return this.#writeControl(CONTROL.rstStream, numbers(id, status));
  }

  /** Returns a promise if the client reads too slowly. */
  #writeControl(type: number, payload: Uint8Array): Promise<void> | undefined {
    if (!this.#transport.writable) return undefined;
    this.#transport.write(controlFrame(type, 0, payload));
    if (!this.#transport.writableNeedDrain) return undefined;
    return new Promise((resolve) => {
      this.#blocked.add(() => resolve());
    });
  }

  #endOf(): SpdyError | undefined {
    return this.#transport.destroyed ? new SpdyError('the connection has ended') : undefined;
  }

  #unblock(): void {
    const error = this.#endOf();
    const blocked = [...this.#blocked];
    this.#blocked.clear();
    for (const done of blocked) done(error);
  }

  #ping(id: number): void {
    const cancel = this.#clock.setTimer(PING_MS, () => {
      this.#timers.delete(cancel);
      void this.#writeControl(CONTROL.ping, numbers(id));
      this.#ping(id + 2);
    });
    this.#timers.add(cancel);
  }
}
