import { createHash } from 'node:crypto';
import { ADMINISTRATORS } from '@gantry/objects';
import { request } from 'node:https';
import type { OutgoingHttpHeaders } from 'node:http';
import { type Clock, withDeadline } from '@gantry/base';
import { onUnaskedSwitch } from '@gantry/tls';
import { transportError } from '../webhooks/index.ts';
import type { User } from '../auth/user.ts';
import type { RemoteApi } from './api-service-index.ts';
import { userHeaders } from './front-proxy.ts';
import type { RemoteServers } from './remote-servers.ts';

/** Maximum size of a discovery document. One of a group version with 100 resources has 25 KB. */
export const MAX_DISCOVERY_BYTES = 2 * 1024 * 1024;
const TIMEOUT_MS = 5000;

/** The user of this server's own requests to extension servers. */
const AGGREGATOR: User = { name: 'system:kube-aggregator', uid: '', groups: [ADMINISTRATORS], extra: {} };

export interface RemoteResponse {
  readonly url: string;
  readonly code: number;
  readonly contentType: string;
  readonly body: Buffer;
  /** The SHA-256 of the body. */
  readonly digest: string;
}

/** An extension server has not responded, or has responded with an error. */
export class RemoteError extends Error {
  override readonly name: string = 'RemoteError';
}

/** A document of an extension server exceeds a bound. The message says which. */
export class ExcessError extends RemoteError {
  override readonly name = 'ExcessError';
}

/** What is requested of an extension server. */
interface RemoteRequest {
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  /** A larger response fails with ExcessError. */
  readonly maxBytes: number;
}

/** Sends a GET to an extension server. Fails with RemoteError, or with WebhookCallError when its Service has no endpoints. */
export async function fetchRemote(
  options: { readonly servers: RemoteServers; readonly clock: Clock },
  remote: RemoteApi,
  { path, headers = {}, maxBytes }: RemoteRequest,
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
      const hash = createHash('sha256');
      let size = 0;
      incoming.on('data', (part: Buffer) => {
        size += part.length;
        hash.update(part);
        if (size > maxBytes)
          incoming.destroy(new ExcessError(`the document at ${path} has more than ${maxBytes} bytes`));
        else parts.push(part);
      });
      incoming.on('error', reject);
      incoming.on('end', () => {
        const { 'content-type': contentType = '' } = incoming.headers;
        const [body, digest] = [Buffer.concat(parts), hash.digest('base64')];
        resolve({ url, code: incoming.statusCode ?? 0, contentType, body, digest });
      });
    },
  );
  outgoing.on('error', reject);
  onUnaskedSwitch(outgoing, ({ statusCode: code = 0 }) =>
    resolve({ url, code, contentType: '', body: Buffer.alloc(0), digest: '' }),
  );
  outgoing.end();
  try {
    return await promise;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ExcessError) throw error;
    const { message } = deadline.aborted
      ? { message: 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)' }
      : transportError(error, where, tls?.servername ?? host);
    throw new RemoteError(`failing or missing response from ${url}: Get "${url}": ${message}`, { cause: error });
  }
}

function defined(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
}

/** Number of concurrent attempts. The server may have several addresses, and one response is enough. */
const ATTEMPTS = 5;

/** Fails unless the server's discovery of the group version succeeds. */
export async function checkDiscovery(
  options: { readonly servers: RemoteServers; readonly clock: Clock },
  remote: RemoteApi,
  signal: AbortSignal,
): Promise<void> {
  const path = `/apis/${remote.group}/${remote.version}`;
  const attempt = async (): Promise<void> => {
    const { code, url } = await fetchRemote(options, remote, { path, maxBytes: MAX_DISCOVERY_BYTES }, signal);
    if (code >= 200 && code < 300) return;
    throw new RemoteError(`failing or missing response from ${url}: bad status from ${url}: ${code}`);
  };
  try {
    await Promise.any(Array.from({ length: ATTEMPTS }, attempt));
  } catch (error) {
    throw error instanceof AggregateError ? error.errors.at(-1) : error;
  }
}
