import { type Clock, onAbort, untilAborted } from '@gantry/base';
import type { WebSocket } from 'ws';
import type { ServePort } from './port-streams.ts';
import { type ChannelCodec, ChannelConnection } from './websocket/channel-connection.ts';

export interface WebSocketPortOptions {
  readonly socket: WebSocket;
  readonly codec: ChannelCodec;
  /** Each gets one connection. */
  readonly ports: readonly number[];
  readonly clock: Clock;
  /** Called once; the argument returns the number of received bytes that were not read yet. */
  readonly limit: (queued: () => number) => void;
  readonly serve: ServePort;
  /** Ends the connection. */
  readonly signal: AbortSignal;
}

/** Serves one connection per port, each over a pair of channels. Both begin with the port's number. Resolves when all have ended. */
export async function serveWebSocketPorts(options: WebSocketPortOptions): Promise<void> {
  const { socket, codec, ports, clock, limit, serve, signal } = options;
  const connection = new ChannelConnection(socket, {
    codec,
    halfClose: false,
    clock,
    channels: ports.flatMap(() => ['both', 'reads'] as const),
  });
  limit(() => connection.queuedBytes);
  using _ = onAbort(signal, () => connection.close());
  const done = ports.map(async (port, index) => {
    const data = connection.channel(index * 2);
    const error = connection.channel(index * 2 + 1);
    if (data === undefined || error === undefined) return;
    const number = Buffer.alloc(2);
    number.writeUInt16LE(port);
    data.write(number);
    error.write(number);
    serve({ port, data, error });
    await Promise.all(
      [data, error].map((stream) => new Promise((resolve) => stream.once('finish', resolve).once('close', resolve))),
    );
  });
  await Promise.all(done);
  connection.close();
  await untilAborted(connection.ended);
}

/** Each port has two channels. A channel number is one byte, and 255 is reserved. */
const MAX_PORTS = 127;

/** The ports in the query: a client of this protocol names them only there. `refused` is the kubelet's message for invalid ports. */
export function parsePorts(query: URLSearchParams): readonly number[] | { readonly refused: string } {
  const texts = query.getAll('ports');
  if (texts.length === 0) return { refused: 'query parameter "port" is required' };
  const ports: number[] = [];
  for (const text of texts) {
    if (text === '') return { refused: 'query parameter "port" cannot be empty' };
    for (const one of text.split(',')) {
      const why = /^\d+$/.test(one) ? (Number(one) < 65536 ? undefined : 'value out of range') : 'invalid syntax';
      const quoted = JSON.stringify(text);
      if (why !== undefined) {
        return {
          refused: `unable to parse ${quoted} as a port: strconv.ParseUint: parsing ${JSON.stringify(one)}: ${why}`,
        };
      }
      if (Number(one) < 1) return { refused: `port ${quoted} must be > 0` };
      ports.push(Number(one));
    }
  }
  return ports.length > MAX_PORTS ? { refused: `at most ${MAX_PORTS} ports can be forwarded at once` } : ports;
}
