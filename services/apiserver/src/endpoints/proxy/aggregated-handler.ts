import { type Clock, withDeadline } from '@gantry/base';
import type { Authorizer } from '../../auth/authz/authorizer.ts';
import type { PathAuthorizer } from '../../auth/authz/authorizer.ts';
import { forward, UnreachableError } from './forward.ts';
import { upgradeOf } from '@gantry/streams';
import { encodePath, type Exchange } from '../../http/exchange.ts';
import type { AuthenticatedExchange } from '../authenticated-exchange.ts';
import { sendText } from '../../http/respond.ts';
import { WebhookCallError } from '../../webhooks/index.ts';
import type { ApiServiceIndex, RemoteApi } from '../../aggregation/api-service-index.ts';
import { userHeaders } from '../../aggregation/front-proxy.ts';
import type { RemoteServers } from '../../aggregation/remote-servers.ts';
import { authorizeByPath, isLastingPart } from '../request-attributes.ts';
import type { AuditedRequest } from '../../audit/index.ts';

/** Forwards requests to extension servers. */
export interface AggregatedApis {
  /** The extension server of a path; undefined if this server serves it. */
  find(path: string): RemoteApi | undefined;
  /** Whether the request is long-running: a watch, or a request for a protocol switch. */
  isLasting({ req }: Exchange, attributes: AuditedRequest): boolean;
  /** Authorises the request and forwards it. */
  serve(exchange: AuthenticatedExchange, remote: RemoteApi): Promise<void>;
}

/** Timeout of discovery requests. Clients do discovery first, so a server that hangs must not block them. */
const DISCOVERY_MS = 5000;

export function createAggregatedApis(dependencies: {
  readonly index: ApiServiceIndex;
  readonly servers: RemoteServers;
  readonly authorizer: Authorizer & PathAuthorizer;
  readonly clock: Clock;
}): AggregatedApis {
  const { index, servers, authorizer, clock } = dependencies;
  return {
    find: (path) => index.remoteAt(path),
    isLasting: ({ req }, attributes) => {
      const isWatch = attributes.kind === 'resource' && attributes.verb === 'watch';
      return isWatch || isLastingPart(attributes) || upgradeOf(req) !== undefined;
    },
    serve: async (exchange, remote) => {
      authorizeByPath(exchange, authorizer);
      const asksWhatIsServed = exchange.path.split('/').filter((part) => part !== '').length === 3;
      if (!asksWhatIsServed) {
        await passOn(exchange, remote, servers);
        return;
      }
      using deadline = withDeadline(clock, exchange.signal, DISCOVERY_MS);
      await passOn({ ...exchange, signal: deadline }, remote, servers, exchange.signal);
    },
  };
}

/** Forwards the request to the extension server, with headers that name the user. */
async function passOn(
  exchange: AuthenticatedExchange,
  remote: RemoteApi,
  servers: RemoteServers,
  whole: AbortSignal = exchange.signal,
): Promise<void> {
  if (!remote.isAvailable) {
    await unavailable(exchange, 'service unavailable');
    return;
  }
  // The authorised path is escaped again, so that the server parses exactly this path.
  const target = `${encodePath(exchange.path)}${/\?.*$/s.exec(exchange.req.url ?? '')?.[0] ?? ''}`;
  const headers = { ...userHeaders(exchange.user, exchange.req.headers), host: undefined };
  try {
    await forward(exchange, { backend: servers.backend(remote), target, prefix: '', headers, redirects: 'refused' });
  } catch (error) {
    if (whole.aborted) throw error;
    if (exchange.signal.aborted)
      await unavailable(exchange, 'error trying to reach service: context deadline exceeded');
    else if (error instanceof WebhookCallError) await unavailable(exchange, 'service unavailable');
    else if (error instanceof UnreachableError) await unavailable(exchange, error.message);
    else throw error;
  }
}

async function unavailable(exchange: Exchange, text: string): Promise<void> {
  await sendText(exchange, 503, `${text}\n`);
}
