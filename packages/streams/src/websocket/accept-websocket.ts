import type { IncomingMessage } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import { releaseChunks } from '../release.ts';
import type { Upgrade } from '../upgrades.ts';

/** The limit of one message, as in the library of Kubernetes' servers. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

/** The request is not a valid WebSocket handshake. The message says why. */
export class HandshakeError extends Error {
  override readonly name = 'HandshakeError';
}

/** The subprotocols that a client offers, in its order. */
export function offeredProtocols(req: IncomingMessage): readonly string[] {
  const offered = req.headers['sec-websocket-protocol'] ?? '';
  return offered
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

/** Whether the request asks for a WebSocket. */
export function isWebSocketRequest({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket' && (headers.connection ?? '').toLowerCase().includes('upgrade');
}

/**
 * Answers the handshake and takes over the connection. `protocol` is the chosen one, '' if the client offered none. A message of more than
 * `maxPayload` bytes ends the connection. Throws HandshakeError before anything is sent.
 */
export function acceptWebSocket(
  req: IncomingMessage,
  { socket, head }: Upgrade,
  protocol: string,
  maxPayload: number = MAX_MESSAGE_BYTES,
): WebSocket {
  const options = { noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload };
  const server = new WebSocketServer(options);
  // The library rejects names with a slash, such as that of SPDY in a WebSocket. So it gets no names.
  delete req.headers['sec-websocket-protocol'];
  if (protocol !== '') {
    server.on('headers', (lines: string[]) => lines.push(`Sec-WebSocket-Protocol: ${protocol}`));
  }
  const outcome: { accepted?: WebSocket; refused?: Error } = {};
  server.on('wsClientError', (error: Error) => {
    outcome.refused = error;
  });
  server.handleUpgrade(req, socket, head, (accepted) => {
    outcome.accepted = accepted;
  });
  if (outcome.accepted === undefined) throw new HandshakeError(outcome.refused?.message ?? 'the connection has ended');
  releaseChunks(outcome.accepted, socket);
  return outcome.accepted;
}
