import type { IncomingHttpHeaders } from 'node:http';
import { StatusError } from '@gantry/objects';

const PREFIX = 'base64url.bearer.authorization.k8s.io.';

/**
 * Moves the bearer token that a browser sends among the subprotocols of a WebSocket, as it can set no other header, to where others
 * send theirs. It must not reach what the request is forwarded to. Throws Unauthorized, as Kubernetes, when it is not a proper one.
 */
export function moveWebSocketToken(headers: IncomingHttpHeaders): void {
  const offered = headers['sec-websocket-protocol'];
  if (offered === undefined || !offered.includes(PREFIX)) return;
  const names = offered.split(',').map((name) => name.trim());
  const [first, ...more] = names.filter((name) => name.startsWith(PREFIX));
  const others = names.filter((name) => !name.startsWith(PREFIX) && name !== '');
  const encoded = first?.slice(PREFIX.length) ?? '';
  // Without another one there is nothing that the server could choose, and browsers end such connections.
  if (more.length > 0 || others.length === 0 || !/^[\w-]+$/.test(encoded)) throw StatusError.unauthorized();
  headers['sec-websocket-protocol'] = others.join(', ');
  headers.authorization ??= `Bearer ${Buffer.from(encoded, 'base64url').toString('utf8')}`;
}
