import type { IncomingMessage } from 'node:http';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import type { Connection, PeerTrust, TrustedPeer } from '@gantry/service';
import type { Credentials } from '../../auth/authn/authenticator.ts';
import { ANONYMOUS } from '../../auth/authn/identity.ts';
import type { User } from '../../auth/user.ts';
import { connectionOf, http2StreamOf, transportOf } from '../../http/client-connection.ts';
import { header } from '../../http/exchange.ts';

/** The client of a connection. */
export interface Client {
  /** The certificate that TLS has verified. */
  readonly certificate: PeerCertificate | undefined;
  readonly trusted: TrustedPeer | undefined;
  /** Whether the client has sent a certificate. */
  readonly shown: 'certificate' | 'none';
  connection: Connection | undefined;
}

/** The clients by connection. The data of TLS is read once per connection. */
const clients = new WeakMap<object, Client>();

/** The client of a request's connection. */
export function clientOf(req: IncomingMessage, trust: PeerTrust): Client {
  const transport = transportOf(req);
  const known = clients.get(transport);
  if (known !== undefined) return known;
  const session = http2StreamOf(req)?.session;
  const socket = (session?.socket ?? req.socket) as TLSSocket;
  const peer = socket.getPeerCertificate() as PeerCertificate | null;
  const came = peer?.raw === undefined ? undefined : peer;
  const certificate = socket.authorized ? came : undefined;
  const client: Client = {
    certificate,
    trusted: certificate === undefined ? undefined : trust.accept(certificate),
    shown: came === undefined ? 'none' : 'certificate',
    connection: connectionOf(transport),
  };
  clients.set(transport, client);
  return client;
}

/** The verified certificate of the client, if it is still valid, and its Authorization header. */
export function credentialsOf(req: IncomingMessage, client: Client, trust: PeerTrust): Credentials {
  const authorization = header(req, 'authorization');
  if (client.shown === 'none') return { certificate: undefined, authorization };
  const { certificate, trusted } = client;
  const isGood = trusted !== undefined && trust.isGood(trusted);
  return { certificate: isGood ? certificate : 'untrusted', authorization };
}

/** Counts the connection for the user of its first authenticated request. */
export function ownConnection(client: Client, requester: User): void {
  if (client.connection === undefined || requester === ANONYMOUS) return;
  client.connection.belongsTo(requester.name);
  client.connection = undefined;
}
