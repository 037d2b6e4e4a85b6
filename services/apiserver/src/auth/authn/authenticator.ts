import { StatusError } from '@gantry/objects';
import type { User } from '../user.ts';
import { ANONYMOUS, type ClientCertificate, userOfCertificate } from './identity.ts';
import type { OnNotice, TokenAuthenticator } from './token-authenticator.ts';
import type { IncomingHttpHeaders } from 'node:http';

/** The credentials of a request. */
export interface Credentials {
  /** The client certificate, if any; 'untrusted' when the CA has not signed it or it has expired. */
  readonly certificate: ClientCertificate | 'untrusted' | undefined;
  /** The Authorization header. */
  readonly authorization: string | undefined;
}

/**
 * Authenticates a request. Throws StatusError Unauthorized for invalid credentials. Without credentials the user is anonymous. `onNotice`
 * receives a warning for the client and an annotation for the audit log.
 */
export type Authenticate = (credentials: Credentials, onNotice?: OnNotice) => Promise<User>;

/** Checks the client certificate first, then each kind of token in turn. */
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
 * Moves a bearer token from the WebSocket subprotocols to the header Authorization. Browsers send the token as a subprotocol, since they
 * cannot set other headers. The token must not be forwarded to the backend. Throws Unauthorized for an invalid token, as in Kubernetes.
 */
export function moveWebSocketToken(headers: IncomingHttpHeaders): void {
  const offered = headers['sec-websocket-protocol'];
  if (offered === undefined || !offered.includes(PREFIX)) return;
  const names = offered.split(',').map((name) => name.trim());
  const [first, ...more] = names.filter((name) => name.startsWith(PREFIX));
  const others = names.filter((name) => !name.startsWith(PREFIX) && name !== '');
  const encoded = first?.slice(PREFIX.length) ?? '';
  // The server must be able to choose another subprotocol; without one, browsers close the connection.
  if (more.length > 0 || others.length === 0 || !/^[\w-]+$/.test(encoded)) throw StatusError.unauthorized();
  headers['sec-websocket-protocol'] = others.join(', ');
  headers.authorization ??= `Bearer ${Buffer.from(encoded, 'base64url').toString('utf8')}`;
}
