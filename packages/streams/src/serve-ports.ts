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

/** What stands beside the request. */
export interface PortOptions {
  /** Of a WebSocket with channels; other clients name the port of each connection. */
  readonly ports: readonly number[];
  readonly clock: Clock;
  /** The user's. */
  readonly messages: MessageShare;
  readonly serve: ServePort;
}

/**
 * Changes to the protocol and serves the connections that the client forwards; resolves when it has gone, or after the end of
 * `exchange.signal`. Rejects with HandshakeError while the request can still be answered.
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
