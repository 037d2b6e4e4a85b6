import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** The connection of a request that asks for another protocol, and what has come after its head. */
export interface Upgrade {
  readonly socket: Duplex;
  readonly head: Buffer;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/** Records an upgrade request; the handler of the request may take the connection over. */
export function offerUpgrade(request: IncomingMessage, upgrade: Upgrade): void {
  upgrades.set(request, upgrade);
}

/** The connection that may be taken over; undefined for an ordinary request. */
export function upgradeOf(request: IncomingMessage): Upgrade | undefined {
  return upgrades.get(request);
}
