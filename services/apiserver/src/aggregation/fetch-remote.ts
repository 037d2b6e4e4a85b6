import { ADMINISTRATORS } from '@gantry/objects';
import { request } from 'node:https';
import type { OutgoingHttpHeaders } from 'node:http';
import { type Clock, withDeadline } from '@gantry/base';
import { transportError } from '../webhooks/index.ts';
import type { User } from '../auth/user.ts';
import type { RemoteApi } from './api-service-index.ts';
import { userHeaders } from './front-proxy.ts';
import type { RemoteServers } from './remote-servers.ts';

/** Documents of extension servers are not larger than this. */
const MAX_BYTES = 32 * 1024 * 1024;
const TIMEOUT_MS = 5000;

/** As whom this server itself asks. */
const AGGREGATOR: User = { name: 'system:kube-aggregator', uid: '', groups: [ADMINISTRATORS], extra: {} };

export interface RemoteResponse {
  readonly url: string;
  readonly code: number;
  readonly contentType: string;
  readonly etag: string;
  readonly body: Buffer;
}

/** An extension server did not answer, or not with success. */
export class RemoteError extends Error {
  override readonly name = 'RemoteError';
}

/** What an extension server answers to a GET. Fails with RemoteError, or with WebhookCallError where nothing stands behind its service. */
export async function fetchRemote(
  options: { readonly servers: RemoteServers; readonly clock: Clock },
  remote: RemoteApi,
  path: string,
  headers: OutgoingHttpHeaders,
  signal: AbortSignal,
): Promise<RemoteResponse> {
  const { host, port, tls, agent } = options.servers.backend(remote);
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const url = `https://${where}${path}`;
  using deadline = withDeadline(options.clock, signal, TIMEOUT_MS);
  const { promise, resolve, reject } = Promise.withResolvers<RemoteResponse>();
  const identity = userHeaders(AGGREGATOR, {}) as OutgoingHttpHeaders;
  const outgoing = request(
    { method: 'GET', host, port, path, agent, ...tls, signal: deadline, headers: { ...headers, ...defined(identity) } },
    (incoming) => {
      const parts: Buffer[] = [];
      let size = 0;
      incoming.on('data', (part: Buffer) => {
        size += part.length;
        if (size > MAX_BYTES) incoming.destroy(new RemoteError('the response is too large'));
        else parts.push(part);
      });
      incoming.on('error', reject);
      incoming.on('end', () => {
        const { 'content-type': contentType = '', etag = '' } = incoming.headers;
        resolve({ url, code: incoming.statusCode ?? 0, contentType, etag, body: Buffer.concat(parts) });
      });
    },
  );
  outgoing.on('error', reject);
  outgoing.end();
  try {
    return await promise;
  } catch (error) {
    signal.throwIfAborted();
    const { message } = deadline.aborted
      ? { message: 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)' }
      : transportError(error, where, tls?.servername ?? host);
    throw new RemoteError(`failing or missing response from ${url}: Get "${url}": ${message}`, { cause: error });
  }
}

function defined(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
}

/** Tries at the same time: the server may have several addresses, and one that answers is enough. */
const ATTEMPTS = 5;

/** Fails when the server's discovery of the group version does not answer with success. */
export async function checkDiscovery(
  options: { readonly servers: RemoteServers; readonly clock: Clock },
  remote: RemoteApi,
  signal: AbortSignal,
): Promise<void> {
  const path = `/apis/${remote.group}/${remote.version}`;
  const attempt = async (): Promise<void> => {
    const { code, url } = await fetchRemote(options, remote, path, {}, signal);
    if (code >= 200 && code < 300) return;
    throw new RemoteError(`failing or missing response from ${url}: bad status from ${url}: ${code}`);
  };
  try {
    await Promise.any(Array.from({ length: ATTEMPTS }, attempt));
  } catch (error) {
    throw error instanceof AggregateError ? error.errors.at(-1) : error;
  }
}
