import type { OutgoingHttpHeaders } from 'node:http';
import { Socket } from 'node:net';
import type { Upgrade, UpgradeExchange } from './upgrades.ts';

/** An idle connection is closed after this time, as by the kubelet. */
const IDLE_MS = 4 * 60 * 60 * 1000;
/** Detects clients whose machine is gone: they never close their connection. */
const KEEPALIVE_MS = 30_000;

/**
 * Takes over the connection of an upgrade request from HTTP. The HTTP server writes nothing to it afterwards. The request ends when the
 * connection ends.
 */
export function takeOver({ res }: UpgradeExchange, { socket }: Upgrade): void {
  res.statusCode = 101;
  if (!(socket instanceof Socket)) return;
  res.detachSocket(socket);
  socket.setKeepAlive(true, KEEPALIVE_MS);
  socket.setTimeout(IDLE_MS, () => socket.destroy());
}

/** Sends response 101 with these headers. The next byte that `socket` reads is the first one of the other protocol. */
export function switchProtocol(exchange: UpgradeExchange, upgrade: Upgrade, headers: OutgoingHttpHeaders): void {
  takeOver(exchange, upgrade);
  const { socket, head } = upgrade;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`);
  if (head.length > 0) socket.unshift(head);
}
