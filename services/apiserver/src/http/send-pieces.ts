import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { createGzip, type Gzip } from 'node:zlib';
import { type Clock, onAbort } from '@gantry/base';
import type { Exchange } from './exchange.ts';
import { acceptsGzip, sendBytes, setCommonHeaders } from './respond.ts';

/** Size of one write: large enough to make its overhead small, and small enough to let other requests run in between. */
const SLAB_BYTES = 128 * 1024;

/** Joins small pieces to slabs of about `SLAB_BYTES`. Pieces that are large themselves are not copied. */
export function* joinPieces(pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
  let slab: Uint8Array[] = [];
  let size = 0;
  for (const piece of pieces) {
    slab.push(piece);
    size += piece.length;
    if (size >= SLAB_BYTES) {
      yield joined(slab, size);
      slab = [];
      size = 0;
    }
  }
  if (size > 0) yield joined(slab, size);
}

function joined(slab: readonly Uint8Array[], size: number): Uint8Array {
  const [only] = slab;
  return only !== undefined && slab.length === 1 ? only : Buffer.concat(slab, size);
}

/** A client that reads nothing for this time is disconnected. A watch client resumes from its last version. */
const STALLED_MS = 30_000;

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
    await sendBytes(exchange, 200, contentType, first.done === true ? new Uint8Array(0) : first.value);
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
  readonly passing: (slabs: Iterable<Uint8Array>) => Iterable<Uint8Array>;
  readonly report: (contentType: string) => void;
} {
  const limit = keptBytes();
  if (limit === 0) return { passing: (slabs) => slabs, report: () => undefined };
  let parts: Uint8Array[] = [];
  let size = 0;
  return {
    *passing(slabs) {
      for (const slab of slabs) {
        size += slab.length;
        if (size <= limit) parts.push(slab);
        else parts = [];
        yield slab;
      }
    },
    report: (contentType) => onBody(contentType, size <= limit ? Buffer.concat(parts) : { size }),
  };
}

function* rest(first: Uint8Array, second: Uint8Array, slabs: Iterable<Uint8Array>): Generator<Uint8Array> {
  yield first;
  yield second;
  yield* slabs;
}

async function writePlain(exchange: Exchange, slabs: Iterable<Uint8Array>, clock: Clock): Promise<void> {
  const { res } = exchange;
  for (const slab of slabs) {
    if (isOver(exchange)) break;
    if (!res.write(slab)) await waitForDrain(exchange, clock);
    await turn();
  }
  finish(exchange);
}

async function writeCompressed(exchange: Exchange, slabs: Iterable<Uint8Array>, clock: Clock): Promise<void> {
  const gzip = createGzip({ level: 1 });
  const copied = copyTo(exchange, gzip, clock);
  for (const slab of slabs) {
    if (isOver(exchange)) break;
    if (!gzip.write(slab)) await Promise.race([once(gzip, 'drain'), copied]);
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
