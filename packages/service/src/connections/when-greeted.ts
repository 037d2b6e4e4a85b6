import type { Socket } from 'node:net';

/** How long a client may send nothing. */
const GREETING_MS = 10_000;

/**
 * Calls `greeted` when the client of a new connection has sent something; a connection without that is closed. So the dearest step of
 * a handshake of TLS is taken when the handshake begins, and many clients that wait with their first message cannot bring the steps of
 * all of them into one round of the event loop. Time is that of sockets, as with the limit of handshakes.
 */
export function whenGreeted(socket: Socket, greeted: () => void, limitMs = GREETING_MS): void {
  const refuse = (): void => void socket.destroy();
  socket.setTimeout(limitMs, refuse);
  // It stays: the client may leave while the handshake waits for its turn.
  socket.on('error', refuse);
  socket.once('readable', () => {
    socket.setTimeout(0, refuse);
    if (socket.readableLength > 0) greeted();
    else refuse();
  });
}
