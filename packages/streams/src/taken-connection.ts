import type { OutgoingHttpHeaders } from 'node:http';
import { Socket } from 'node:net';
import type { Upgrade, UpgradeExchange } from './upgrades.ts';

/** As the kubelet ends streams on which nothing has happened. */
const IDLE_MS = 4 * 60 * 60 * 1000;
/** A client whose machine is gone never ends its connection. */
const KEEPALIVE_MS = 30_000;

/**
 * Takes the connection of an upgrade request over from HTTP: nothing else is written to it afterwards. Its end is the end of the
 * request.
 */
export function takeOver({ res }: UpgradeExchange, { socket }: Upgrade): void {
  res.statusCode = 101;
  if (!(socket instanceof Socket)) return;
  res.detachSocket(socket);
  socket.setKeepAlive(true, KEEPALIVE_MS);
  socket.setTimeout(IDLE_MS, () => socket.destroy());
}

/** Answers 101 with these headers. `socket` then begins with the first byte of the other protocol. */
export function switchProtocol(exchange: UpgradeExchange, upgrade: Upgrade, headers: OutgoingHttpHeaders): void {
  takeOver(exchange, upgrade);
  const { socket, head } = upgrade;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`);
  if (head.length > 0) socket.unshift(head);
}
