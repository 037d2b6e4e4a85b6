import { Duplex } from 'node:stream';
import type { Headers } from './header-blocks.ts';

/** What a stream needs of its connection. */
export interface StreamLink {
  /** Sends data; `fin` ends this direction. `done` is called when it has gone out: the data is no longer needed then. */
  send(id: number, data: Buffer, fin: 'fin' | 'more', done: (error?: Error) => void): void;
  /** The stream is over. `abandoned`: before both directions had ended, which the peer is to hear of. */
  closed(id: number, how: 'ended' | 'abandoned'): void;
}

/** What a stream holds that its reader has not taken; the connection is not read further above it. */
const BUFFER_BYTES = 64 * 1024;

/**
 * One stream of a connection that a client has opened. `end` half-closes it, `destroy` resets it. It is destroyed, with no error, when
 * the client resets it or the connection ends before it does.
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

  /** For the connection: data of the client. A promise when no more should come before it resolves. */
  receive(data: Buffer): Promise<void> | undefined {
    if (this.#peer !== 'sends' || this.destroyed || data.length === 0) return undefined;
    if (this.push(data)) return undefined;
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  /** For the connection: the client sends no more. */
  receiveEnd(): void {
    if (this.#peer !== 'sends' || this.destroyed) return;
    this.#peer = 'ended';
    this.push(null);
  }

  /** For the connection: the client wants no more of the stream. */
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
