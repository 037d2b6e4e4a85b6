import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { createGzip, type Gzip } from 'node:zlib';
import { type Clock, onAbort } from '@gantry/base';
import type { Exchange } from './exchange.ts';
import { acceptsGzip, sendBytes, setCommonHeaders } from './respond.ts';

/** Size of one write: large enough to make its overhead small, and small enough to let other requests run in between. */
const SLAB_BYTES = 128 * 1024;

/**
 * A part of a body. A stream calls back a write when it has read its bytes or was closed. Over TLS, whatever it has begun to send is encrypted
 * or copied by then, so released memory never reaches another client.
 */
export interface Slab {
  readonly bytes: Uint8Array;
  /** Call it when `bytes` is not read any more: the next slab may be in the same memory. */
  readonly release: () => void;
}

/** Memory of released slabs. Copying a piece costs less than new memory for it, and less than collecting that again. */
const FREE: Buffer[] = [];
/** Together 4 MiB. */
const MAX_FREE = 32;

/** Joins small pieces to slabs of at most `SLAB_BYTES`. Pieces that are larger themselves are not copied. */
export function* joinPieces(pieces: Iterable<Uint8Array>): Generator<Slab> {
  let parts: Uint8Array[] = [];
  let size = 0;
  for (const piece of pieces) {
    if (size > 0 && size + piece.length > SLAB_BYTES) {
      yield sharedSlab(parts);
      parts = [];
      size = 0;
    }
    parts.push(piece);
    size += piece.length;
  }
  // A watch sends few bytes at a time, which must not occupy the memory of a slab while its client reads slowly.
  if (size > 0) yield ownSlab(parts, size);
}

function ownSlab(parts: readonly Uint8Array[], size: number): Slab {
  const [only] = parts;
  const bytes = only !== undefined && parts.length === 1 ? only : Buffer.concat(parts, size);
  return { bytes, release: () => undefined };
}

function sharedSlab(parts: readonly Uint8Array[]): Slab {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return ownSlab(parts, only.length);
  const memory = FREE.pop() ?? Buffer.allocUnsafeSlow(SLAB_BYTES);
  let at = 0;
  for (const part of parts) {
    memory.set(part, at);
    at += part.length;
  }
  const release = () => {
    if (FREE.length < MAX_FREE) FREE.push(memory);
  };
  return { bytes: memory.subarray(0, at), release };
}

/** A client that reads nothing for this time is disconnected. A watch client resumes from its last version. */
export const STALLED_MS = 30_000;

/** Resolves when the client has read the written data or has gone. Disconnects a client that takes longer than `limitMs`. */
export async function waitForDrain({ res, signal }: Exchange, clock: Clock, limitMs = STALLED_MS): Promise<void> {
  const drained = Promise.withResolvers<void>();
  using _ = onAbort(signal, drained.resolve);
  const cancel = clock.setTimer(limitMs, () => {
    res.destroy();
    drained.resolve();
  });
  res.on('drain', drained.resolve).on('close', drained.resolve);
  await drained.promise;
  cancel();
  res.off('drain', drained.resolve).off('close', drained.resolve);
}

/**
 * Sends a response that is produced in pieces. A response of one slab is sent with its length. A larger one is streamed while it is
 * produced, and compressed if the client accepts gzip; it is never in memory as a whole. A failure after the first bytes closes the
 * connection, so that the client sees that the response is incomplete.
 */
export async function sendPieces(
  exchange: Exchange,
  contentType: string,
  pieces: Iterable<Uint8Array>,
  clock: Clock,
): Promise<void> {
  const slabs = joinPieces(pieces);
  const first = slabs.next();
  const second = first.done === true ? first : slabs.next();
  if (first.done === true || second.done === true) {
    await sendBytes(exchange, 200, contentType, first.done === true ? new Uint8Array(0) : first.value.bytes);
    return;
  }
  const { res } = exchange;
  if (res.headersSent || res.destroyed) return;
  res.statusCode = 200;
  res.setHeader('content-type', contentType);
  setCommonHeaders(exchange);
  const compress = acceptsGzip(exchange);
  if (compress) {
    res.setHeader('content-encoding', 'gzip');
    res.setHeader('vary', 'Accept-Encoding');
  }
  if (exchange.method === 'HEAD') {
    res.end();
    return;
  }
  try {
    const kept = keptParts(exchange);
    const all = kept.passing(rest(first.value, second.value, slabs));
    await (compress ? writeCompressed(exchange, all, clock) : writePlain(exchange, all, clock));
    if (!isOver(exchange)) kept.report(contentType);
  } catch (error) {
    res.destroy();
    throw error;
  }
}

/** Keeps the parts of a body for `onBody`, unless they are too large together. */
function keptParts({ keptBytes, onBody }: Exchange): {
  readonly passing: (slabs: Iterable<Slab>) => Iterable<Slab>;
  readonly report: (contentType: string) => void;
} {
  const limit = keptBytes();
  if (limit === 0) return { passing: (slabs) => slabs, report: () => undefined };
  let parts: Uint8Array[] = [];
  let size = 0;
  return {
    *passing(slabs) {
      for (const slab of slabs) {
        size += slab.bytes.length;
        if (size <= limit) parts.push(Uint8Array.from(slab.bytes));
        else parts = [];
        yield slab;
      }
    },
    report: (contentType) => onBody(contentType, size <= limit ? Buffer.concat(parts) : { size }),
  };
}

function* rest(first: Slab, second: Slab, slabs: Iterable<Slab>): Generator<Slab> {
  yield first;
  yield second;
  yield* slabs;
}

async function writePlain(exchange: Exchange, slabs: Iterable<Slab>, clock: Clock): Promise<void> {
  const { res } = exchange;
  for (const { bytes, release } of slabs) {
    if (isOver(exchange)) break;
    if (!res.write(bytes, release)) await waitForDrain(exchange, clock);
    await turn();
  }
  finish(exchange);
}

async function writeCompressed(exchange: Exchange, slabs: Iterable<Slab>, clock: Clock): Promise<void> {
  const gzip = createGzip({ level: 1 });
  const copied = copyTo(exchange, gzip, clock);
  for (const { bytes, release } of slabs) {
    if (isOver(exchange)) break;
    if (!gzip.write(bytes, release)) await Promise.race([once(gzip, 'drain'), copied]);
    await turn();
  }
  gzip.end();
  await copied;
  finish(exchange);
}

/** Writes the compressed bytes with back-pressure. */
async function copyTo(exchange: Exchange, gzip: Gzip, clock: Clock): Promise<void> {
  for await (const chunk of gzip as AsyncIterable<Buffer>) {
    if (isOver(exchange)) break;
    if (!exchange.res.write(chunk)) await waitForDrain(exchange, clock);
  }
}

function isOver({ res, signal }: Exchange): boolean {
  return signal.aborted || res.destroyed;
}

/** Ends the response. An aborted response must not look complete, so its connection is closed. */
function finish({ res, signal }: Exchange): void {
  if (signal.aborted) res.destroy();
  else res.end();
}
