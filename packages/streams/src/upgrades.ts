import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** The connection of an upgrade request, and the bytes that followed its headers. */
export interface Upgrade {
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** An upgrade request, as a server passes it to a handler. */
export interface UpgradeExchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Aborted when the server ends the stream. */
  readonly signal: AbortSignal;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/**
 * Records an upgrade request, whose handler may take over the connection. Otherwise the handler uses the result, an ordinary response that
 * ends the connection.
 */
export function offerUpgrade(request: IncomingMessage, socket: Socket, head: Buffer): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once('finish', () => socket.end());
  upgrades.set(request, { socket, head });
  return response;
}

/** The connection that a handler may take over; undefined for an ordinary request. */
export function upgradeOf(request: IncomingMessage): Upgrade | undefined {
  return upgrades.get(request);
}
