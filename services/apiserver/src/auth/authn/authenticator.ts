import { StatusError } from '@gantry/objects';
import type { User } from '../user.ts';
import { ANONYMOUS, type ClientCertificate, userOfCertificate } from './identity.ts';
import type { OnNotice, TokenAuthenticator } from './token-authenticator.ts';
import type { IncomingHttpHeaders } from 'node:http';

/** What a request shows of who sends it. */
export interface Credentials {
  /** A client certificate that came: 'untrusted' when the CA has not signed it or it has run out. */
  readonly certificate: ClientCertificate | 'untrusted' | undefined;
  /** The Authorization header. */
  readonly authorization: string | undefined;
}

/**
 * Authenticates a request. Throws StatusError Unauthorized for invalid credentials; without credentials the user is anonymous. `onNotice` is
 * called with what the sender and the audit log are to know of the credentials.
 */
export type Authenticate = (credentials: Credentials, onNotice?: OnNotice) => Promise<User>;

/** Certificates first, then each kind of token in turn. */
export function createAuthenticator(tokens: readonly TokenAuthenticator[]): Authenticate {
  const users = new WeakMap<ClientCertificate, User>();
  return async ({ certificate, authorization }, onNotice) => {
    if (certificate !== undefined && certificate !== 'untrusted') {
      const user = users.get(certificate) ?? userOfCertificate(certificate);
      if (user !== undefined) {
        users.set(certificate, user);
        return user;
      }
    }
    const token = bearerToken(authorization);
    if (token !== undefined) {
      for (const authenticator of tokens) {
        const user = await authenticator.authenticate(token, undefined, onNotice);
        if (user !== undefined) return user;
      }
      throw StatusError.unauthorized();
    }
    if (certificate !== undefined) throw StatusError.unauthorized();
    return ANONYMOUS;
  };
}

function bearerToken(authorization: string | undefined): string | undefined {
  const match = /^bearer +(\S+)$/i.exec(authorization?.trim() ?? '');
  return match?.[1];
}

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
