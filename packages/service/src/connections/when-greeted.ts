import type { Socket } from 'node:net';

/** Milliseconds that a client may stay silent. */
const GREETING_MS = 10_000;

/**
 * Calls `greeted` when the client of a new connection has sent something; closes the connection if it stays silent. So the most expensive
 * step of a TLS handshake runs when the handshake begins. Otherwise clients that hold back their first message could cause all these steps
 * in one round of the event loop. Uses socket timeouts, as the limit of handshakes does.
 */
export function whenGreeted(socket: Socket, greeted: () => void, limitMs = GREETING_MS): void {
  const refuse = (): void => void socket.destroy();
  socket.setTimeout(limitMs, refuse);
  // The listener remains: the client may disconnect while the handshake waits for its turn.
  socket.on('error', refuse);
  socket.once('readable', () => {
    socket.setTimeout(0, refuse);
    if (socket.readableLength > 0) greeted();
    else refuse();
  });
}
