import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { raceAbort } from '@gantry/base';
import { release } from './release.ts';
import type { Upgrade } from './upgrades.ts';

/** How long the other connection may stay open after one has ended. */
const LINGER_MS = 5000;

/** Agrees to a client's upgrade request with status 101. The connection is the caller's then. */
export function acceptUpgrade(
  res: ServerResponse,
  { socket }: Upgrade,
  message: string | undefined,
  headers: Iterable<readonly [name: string, value: string]>,
): void {
  const lines = [`HTTP/1.1 101 ${message ?? 'Switching Protocols'}`];
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  res.statusCode = 101;
  res.detachSocket(socket as Parameters<typeof res.detachSocket>[0]);
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
}

/**
 * Copies the bytes of two connections to each other, with back-pressure, until both have ended or `cut` is aborted; then both are closed.
 * When one side has ended, the other side may send the rest and close its connection itself. If this end closed a connection that has unread
 * bytes, the peer would lose data that it has not read yet.
 */
export async function joinConnections(one: Upgrade, other: Upgrade, cut: AbortSignal): Promise<void> {
  for (const { socket, head } of [one, other]) if (head.length > 0) socket.unshift(head);
  const ended = [finished(one.socket), finished(other.socket)];
  copy(one.socket, other.socket);
  copy(other.socket, one.socket);
  try {
    await raceAbort(Promise.race(ended), cut);
    await raceAbort(Promise.allSettled(ended), AbortSignal.any([cut, AbortSignal.timeout(LINGER_MS)]));
  } catch {
    // One side has failed or does not close, or `cut` was aborted. There is nothing left to send.
  } finally {
    for (const { socket } of [one, other]) socket.on('error', () => undefined).destroy();
    for (const end of ended) end.catch(() => undefined);
  }
}

/** Like `pipe`, but releases the memory of each chunk when it has been written. */
function copy(from: Duplex, to: Duplex): void {
  from.on('data', (chunk: Buffer) => {
    const isReady = to.write(chunk, () => release(chunk));
    if (!isReady) from.pause();
  });
  to.on('drain', () => from.resume());
  from.once('end', () => to.end());
}
