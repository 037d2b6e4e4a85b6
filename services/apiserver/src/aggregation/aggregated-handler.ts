import type { Authorizer } from '../driver.ts';
import type { PathAuthorizer } from '../auth/authorizer.ts';
import { forward, UnreachableError } from '../proxy/forward.ts';
import type { Exchange } from '../rest/exchange.ts';
import { sendText } from '../rest/respond.ts';
import { WebhookCallError } from '../webhook-client/index.ts';
import type { ApiServiceIndex, RemoteApi } from './api-service-index.ts';
import { userHeaders } from './front-proxy.ts';
import type { RemoteServers } from './remote-servers.ts';
import { requestAttributes } from './request-attributes.ts';

/** Serves what extension servers serve, through them. */
export interface AggregatedApis {
  /** Who serves the path, when it is not this server. */
  find(path: string): RemoteApi | undefined;
  /** Authorises the request and passes it on. */
  serve(exchange: Exchange, remote: RemoteApi): Promise<void>;
}

export function createAggregatedApis(dependencies: {
  readonly index: ApiServiceIndex;
  readonly servers: RemoteServers;
  readonly authorizer: Authorizer & PathAuthorizer;
}): AggregatedApis {
  const { index, servers, authorizer } = dependencies;
  return {
    find: (path) => {
      const [, root, group = '', version = ''] = path.split('/');
      return root === 'apis' ? index.remote(group, version) : undefined;
    },
    serve: async (exchange, remote) => {
      authorize(exchange, authorizer);
      await passOn(exchange, remote, servers, exchange.req.url ?? '/');
    },
  };
}

/** Sends the request on to the extension server, with the word of who asks. */
export async function passOn(
  exchange: Exchange,
  remote: RemoteApi,
  servers: RemoteServers,
  target: string,
): Promise<void> {
  if (!remote.isAvailable) {
    await unavailable(exchange, 'service unavailable');
    return;
  }
  const headers = userHeaders(exchange.user, exchange.req.headers);
  try {
    await forward(exchange, { backend: servers.backend(remote), target, prefix: '', headers });
  } catch (error) {
    if (exchange.signal.aborted) throw error;
    if (error instanceof WebhookCallError) await unavailable(exchange, 'service unavailable');
    else if (error instanceof UnreachableError) await unavailable(exchange, error.message);
    else throw error;
  }
}

async function unavailable(exchange: Exchange, text: string): Promise<void> {
  await sendText(exchange, 503, `${text}\n`);
}

function authorize(exchange: Exchange, authorizer: Authorizer & PathAuthorizer): void {
  const { user, method, path, query } = exchange;
  const asked = requestAttributes(method, path, query);
  if (asked.kind === 'path') {
    authorizer.authorizePath(user, asked.verb, path);
    return;
  }
  const { verb, group, resource, subresource, namespace, name } = asked;
  const target = { definition: { group, resource }, namespace, name, subresource };
  authorizer.authorize(user, verb, target, undefined, query.get('fieldSelector') ?? '');
}
