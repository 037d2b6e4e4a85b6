import type { Clock } from '@gantry/base';
import { createWebSocketStream } from 'ws';
import type { Upgrade, UpgradeExchange } from './upgrades.ts';
import type { ServePort } from './port-streams.ts';
import { serveSpdyPorts } from './spdy-ports.ts';
import { PORT_PROTOCOL, PORT_TUNNEL, type PortChoice } from './stream-protocol.ts';
import { switchProtocol, takeOver } from './taken-connection.ts';
import { acceptWebSocket } from './websocket/accept-websocket.ts';
import { limitMessages, type MessageShare } from './websocket/message-memory.ts';
import { serveWebSocketPorts } from './websocket-ports.ts';

export interface PortOptions {
  /** Only for a WebSocket with channels; other clients name the port of each connection. */
  readonly ports: readonly number[];
  readonly clock: Clock;
  /** The share of the client's user. */
  readonly messages: MessageShare;
  readonly serve: ServePort;
}

/**
 * Switches to the chosen protocol and serves the client's connections. Resolves when the client has disconnected, or after
 * `exchange.signal` is aborted. Rejects with HandshakeError, after which the request can get an ordinary response.
 */
export async function servePorts(
  exchange: UpgradeExchange,
  upgrade: Upgrade,
  choice: PortChoice,
  { ports, clock, messages, serve }: PortOptions,
): Promise<void> {
  const { signal } = exchange;
  if (choice.kind === 'spdy') {
    const headers = { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', 'X-Stream-Protocol-Version': PORT_PROTOCOL };
    switchProtocol(exchange, upgrade, headers);
    await serveSpdyPorts({ transport: upgrade.socket, clock, serve, signal });
    return;
  }
  const socket = acceptWebSocket(exchange.req, upgrade, choice.kind === 'tunnel' ? PORT_TUNNEL : choice.protocol);
  takeOver(exchange, upgrade);
  if (choice.kind === 'websocket') {
    const limit = (queued: () => number) => limitMessages(socket, upgrade.socket, messages, queued);
    await serveWebSocketPorts({ socket, codec: choice.codec, ports, clock, limit, serve, signal });
    return;
  }
  const transport = createWebSocketStream(socket);
  limitMessages(socket, upgrade.socket, messages, () => transport.readableLength);
  transport.on('error', () => undefined);
  await serveSpdyPorts({ transport, clock, serve, signal });
}
