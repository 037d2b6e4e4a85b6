import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** The connection of a request that asks for another protocol, and what has come after its head. */
export interface Upgrade {
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** A request for another protocol, as a server hands it to a handler. */
export interface UpgradeExchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** Aborted when the server ends the stream. */
  readonly signal: AbortSignal;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/**
 * Records an upgrade request, whose handler may take the connection over. The result is an ordinary response for the other case; the
 * connection ends with it.
 */
export function offerUpgrade(request: IncomingMessage, socket: Socket, head: Buffer): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once('finish', () => socket.end());
  upgrades.set(request, { socket, head });
  return response;
}

/** The connection that may be taken over; undefined for an ordinary request. */
export function upgradeOf(request: IncomingMessage): Upgrade | undefined {
  return upgrades.get(request);
}
