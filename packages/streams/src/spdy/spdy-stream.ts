import { Duplex } from 'node:stream';
import type { Headers } from './header-blocks.ts';

/** The connection of a stream. */
export interface StreamLink {
  /** Sends data; `fin` ends this direction. `done` is called when the data is sent and can be reused. */
  send(id: number, data: Buffer, fin: 'fin' | 'more', done: (error?: Error) => void): void;
  /** Called when the stream is over. `abandoned`: before both directions had ended, so the peer must be told. */
  closed(id: number, how: 'ended' | 'abandoned'): void;
}

/** Maximum bytes that a stream keeps for its reader. With more, reading from the connection stops. */
const BUFFER_BYTES = 64 * 1024;

/**
 * One stream that a client has opened. `end` half-closes it, `destroy` resets it. It is destroyed without an error if the client resets
 * it, or if the connection ends first.
 */
export class SpdyStream extends Duplex {
  readonly id: number;
  readonly headers: Headers;
  readonly #link: StreamLink;
  #peer: 'sends' | 'ended' | 'reset' = 'sends';
  #waiting: (() => void) | undefined;

  constructor(id: number, headers: Headers, link: StreamLink) {
    super({ readableHighWaterMark: BUFFER_BYTES, writableHighWaterMark: BUFFER_BYTES, allowHalfOpen: true });
    this.id = id;
    this.headers = headers;
    this.#link = link;
  }

  /** Called by the connection with the client's data. No more data should be passed before a returned promise resolves. */
  receive(data: Buffer): Promise<void> | undefined {
    if (this.#peer !== 'sends' || this.destroyed || data.length === 0) return undefined;
    if (this.push(data)) return undefined;
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  /** Called by the connection when the client sends no more data. */
  receiveEnd(): void {
    if (this.#peer !== 'sends' || this.destroyed) return;
    this.#peer = 'ended';
    this.push(null);
  }

  /** Called by the connection when the client resets the stream. */
  receiveReset(): void {
    this.#peer = 'reset';
    this.destroy();
  }

  override _read(): void {
    this.#resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#link.send(this.id, chunk, 'more', done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#link.send(this.id, Buffer.alloc(0), 'fin', done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const isOver = this.#peer === 'reset' || (this.#peer === 'ended' && this.writableFinished);
    this.#link.closed(this.id, isOver ? 'ended' : 'abandoned');
    this.#resume();
    done(error);
  }

  #resume(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.();
  }
}
