import type { IncomingMessage } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import { releaseChunks } from '../release.ts';
import type { Upgrade } from '../upgrades.ts';

/** Of one message: the limit of the library that Kubernetes' servers use. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

/** The request is no proper WebSocket handshake. The message says what is wrong with it. */
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
 * Answers the handshake and takes the connection over. `protocol` is the chosen one, '' when the client offered none; a client that
 * sends a message of more than `maxPayload` bytes is cut off. Throws HandshakeError, with nothing sent.
 */
export function acceptWebSocket(
  req: IncomingMessage,
  { socket, head }: Upgrade,
  protocol: string,
  maxPayload: number = MAX_MESSAGE_BYTES,
): WebSocket {
  const options = { noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload };
  const server = new WebSocketServer(options);
  // The library refuses names with a slash, as that of SPDY through a WebSocket has; so it does not see any.
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
