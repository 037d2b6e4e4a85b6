import type { Duplex } from 'node:stream';
import { type CancelTimer, type Clock, onAbort } from '@gantry/base';
import type { ServePort } from './port-streams.ts';
import type { Headers } from './spdy/header-blocks.ts';
import { SpdyConnection } from './spdy/spdy-connection.ts';
import type { SpdyStream } from './spdy/spdy-stream.ts';
import { STREAM_CREATION_MS } from './spdy-command.ts';

export interface SpdyPortOptions {
  readonly transport: Duplex;
  readonly clock: Clock;
  readonly serve: ServePort;
  /** Ends the connection. */
  readonly signal: AbortSignal;
}

/** A pair of streams; one may not be open yet. */
interface Pair {
  data?: SpdyStream;
  error?: SpdyStream;
  readonly cancel: CancelTimer;
}

/** Serves all connections that a client forwards through one SPDY connection. Resolves when that has ended. */
export async function serveSpdyPorts({ transport, clock, serve, signal }: SpdyPortOptions): Promise<void> {
  const pairs = new Map<string, Pair>();
  const expire = (id: string): void => {
    const pair = pairs.get(id);
    pairs.delete(id);
    pair?.error?.end(`(request=${id}) timed out waiting for streams`);
    pair?.data?.destroy();
  };
  // Otherwise a client that opens and resets many streams would fill the memory with incomplete pairs.
  const forget = (id: string, pair: Pair, stream: SpdyStream): void => {
    if (pairs.get(id) !== pair) return;
    if (pair.data === stream) delete pair.data;
    if (pair.error === stream) delete pair.error;
    if (pair.data !== undefined || pair.error !== undefined) return;
    pairs.delete(id);
    pair.cancel();
  };
  const connection = new SpdyConnection({
    transport,
    clock,
    accepts: (headers, id) => portOf(headers) !== undefined && isNew(pairs.get(requestOf(headers, id)), headers),
    onStream: (stream) => {
      const id = requestOf(stream.headers, stream.id);
      const pair: Pair = pairs.get(id) ?? { cancel: clock.setTimer(STREAM_CREATION_MS, () => expire(id)) };
      pairs.set(id, pair);
      if (stream.headers.get('streamtype') === 'data') pair.data = stream;
      else pair.error = stream;
      stream.once('close', () => forget(id, pair, stream));
      const { data, error } = pair;
      if (data === undefined || error === undefined) return;
      pair.cancel();
      pairs.delete(id);
      serve({ port: portOf(data.headers) ?? 0, data, error });
    },
  });
  using _ = onAbort(signal, () => connection.close());
  await connection.serve();
  for (const pair of pairs.values()) pair.cancel();
}

/** The port of a stream; undefined if its headers are invalid. */
function portOf(headers: Headers): number | undefined {
  const text = headers.get('port') ?? '';
  const type = headers.get('streamtype');
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port > 0 && port < 65536 && (type === 'data' || type === 'error') ? port : undefined;
}

function isNew(pair: Pair | undefined, headers: Headers): boolean {
  return (headers.get('streamtype') === 'data' ? pair?.data : pair?.error) === undefined;
}

/** The id that the two streams of a connection share. Old clients send none, but open the data stream right after the error stream. */
function requestOf(headers: Headers, stream: number): string {
  const id = headers.get('requestid') ?? '';
  if (id !== '') return id;
  return String(headers.get('streamtype') === 'data' ? stream - 2 : stream);
}
