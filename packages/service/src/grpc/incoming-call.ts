import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { status } from '@grpc/grpc-js';
import type { Clock } from '@gantry/base';

/** How a call ended, in gRPC's terms. Trailers ending in `-bin` are bytes. */
export interface CallStatus {
  readonly code: number;
  readonly message: string;
  readonly trailers: Readonly<Record<string, string | Buffer>>;
}

/** Why a stream was ended by its server. */
export class StreamEndedError extends Error {
  override readonly name = 'StreamEndedError';
}

/** Made once: a stack trace for each would cost more than the call's own work. */
const CLIENT_GONE = new StreamEndedError('the client has gone');

const CONTENT_TYPE = 'application/grpc+proto';
const RESPONSE = { ':status': constants.HTTP_STATUS_OK, 'content-type': CONTENT_TYPE };
const OK = { 'grpc-status': String(status.OK) };
const HEAD_BYTES = 5;
/** Smaller messages are copied behind their heads: one write costs more than that. */
const COPIED_BYTES = 64 * 1024;
const MAX_TIMER_MS = 2 ** 31 - 1;
const UNITS_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/**
 * The server's side of one call on its HTTP/2 stream: one message comes, one or many go, a status ends it. What is sent after
 * the end is dropped.
 */
export class IncomingCall {
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  readonly #abort = new AbortController();
  readonly #cancelDeadline: (() => void) | undefined;
  #state: 'waiting' | 'responding' | 'ended' = 'waiting';

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, clock: Clock) {
    this.#stream = stream;
    this.#headers = headers;
    const timeoutMs = parseTimeout(this.header('grpc-timeout'));
    if (timeoutMs !== undefined) this.#cancelDeadline = clock.setTimer(timeoutMs, () => this.#late());
    stream.once('close', () => this.#closed());
    // What goes wrong with a stream closes it.
    stream.on('error', () => undefined);
  }

  /** Aborted when the client has gone, or its deadline has passed, before the call has ended. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  header(name: string): string | undefined {
    const value = this.#headers[name.toLowerCase()];
    return Array.isArray(value) ? value[0] : value;
  }

  /** Hands over the request's message when it has come whole; a call without one, with two or too large a one is ended. */
  receive(maxBytes: number, onMessage: (bytes: Buffer) => void): void {
    const parts: Buffer[] = [];
    let length = 0;
    this.#stream.on('data', (part: Buffer) => {
      length += part.length;
      if (length <= maxBytes + HEAD_BYTES) parts.push(part);
      else this.fail(status.RESOURCE_EXHAUSTED, `Received message larger than max (${length} vs. ${maxBytes})`);
    });
    this.#stream.once('end', () => {
      if (this.#state === 'ended') return;
      const [first] = parts;
      const bytes = parts.length === 1 && first !== undefined ? first : Buffer.concat(parts);
      if (bytes.length === 0) this.fail(status.UNIMPLEMENTED, 'Received no request message');
      else if (bytes[0] !== 0) this.fail(status.UNIMPLEMENTED, 'Compressed messages are not supported');
      else if (bytes.length < HEAD_BYTES || bytes.length - HEAD_BYTES < bytes.readUInt32BE(1)) {
        this.fail(status.INTERNAL, 'Received a message that is cut off');
      } else if (bytes.length - HEAD_BYTES > bytes.readUInt32BE(1)) {
        this.fail(status.UNIMPLEMENTED, 'Received a second request message');
      } else onMessage(bytes.subarray(HEAD_BYTES));
    });
  }

  /** Sends a message; false when the client should be waited for before the next one. */
  send(message: Buffer): boolean {
    if (this.#state === 'ended') return true;
    this.#respond();
    const head = Buffer.allocUnsafe(HEAD_BYTES);
    head[0] = 0;
    head.writeUInt32BE(message.length, 1);
    if (message.length <= COPIED_BYTES) return this.#stream.write(Buffer.concat([head, message]));
    this.#stream.write(head);
    return this.#stream.write(message);
  }

  /** Resolves when the client can take more; rejects when it has gone. */
  drained(): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = () => {
        this.#stream.off('drain', done);
        this.signal.removeEventListener('abort', done);
        if (this.signal.aborted) reject(this.signal.reason);
        else resolve();
      };
      this.#stream.on('drain', done);
      if (this.signal.aborted) done();
      else this.signal.addEventListener('abort', done, { once: true });
    });
  }

  /** Ends a call that went well. */
  end(): void {
    if (this.#state === 'ended') return;
    this.#respond();
    this.#finish(OK);
  }

  /** Ends a call with an error. */
  fail(code: number, message: string, trailers: CallStatus['trailers'] = {}): void {
    if (this.#state === 'ended') return;
    const sent = {
      'grpc-status': String(code),
      'grpc-message': encodeURI(message.toWellFormed()),
      ...Object.fromEntries(Object.entries(trailers).map(([name, value]) => [name, textOf(value)])),
    };
    if (this.#state === 'responding') {
      this.#finish(sent);
      return;
    }
    this.#state = 'ended';
    this.#cancelDeadline?.();
    this.#stream.respond({ ...RESPONSE, ...sent }, { endStream: true });
    this.#stream.resume();
  }

  /** Tells the handler to stop; it ends the call itself. */
  stop(reason: Error): void {
    this.#abort.abort(reason);
  }

  #respond(): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'responding';
    this.#stream.respond(RESPONSE, { waitForTrailers: true });
  }

  #finish(trailers: Readonly<Record<string, string>>): void {
    this.#state = 'ended';
    this.#cancelDeadline?.();
    this.#stream.once('wantTrailers', () => this.#stream.sendTrailers(trailers));
    this.#stream.end();
  }

  #late(): void {
    this.fail(status.DEADLINE_EXCEEDED, 'Deadline exceeded');
    this.#abort.abort(CLIENT_GONE);
  }

  #closed(): void {
    this.#cancelDeadline?.();
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#abort.abort(CLIENT_GONE);
  }
}

/** The milliseconds of a `grpc-timeout` header; undefined without one that can be read. */
export function parseTimeout(header: string | undefined): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(header ?? '') ?? [];
  if (digits === undefined) return undefined;
  return Math.min(MAX_TIMER_MS, Number(digits) * (UNITS_MS[unit] ?? 1));
}

function textOf(value: string | Buffer): string {
  return typeof value === 'string' ? value : value.toString('base64');
}
