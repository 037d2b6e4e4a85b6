import { type Agent, request as httpsRequest } from 'node:https';
import { rootCertificates } from 'node:tls';
import { parsePlainBody } from '@gantry/apimachinery';
import { type Clock, type Random, withDeadline } from '@gantry/base';
import { createHttpsAgent, onUnaskedSwitch } from '@gantry/tls';
import { resolveService, type ServiceObjects } from './resolve-service.ts';
import { responseError, transportError, WebhookCallError } from './webhook-call-error.ts';

/** The client configuration of a webhook, for admission and for conversion. */
export interface WebhookConfig {
  readonly url?: string;
  readonly service?: {
    readonly name: string;
    readonly namespace: string;
    readonly path?: string;
    readonly port?: number;
  };
  /** PEM in base64. Defaults to the CAs of the system. */
  readonly caBundle?: string;
}

export interface WebhookRequest {
  readonly config: WebhookConfig;
  /** The body of the request, sent as JSON. */
  readonly body: object;
  /** Timeout of the call. The parameter `?timeout=` tells it to the webhook. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Posts JSON to webhooks over HTTPS and returns their JSON responses. */
export interface WebhookCaller {
  /** Returns the body of the response. Fails with WebhookCallError, whose message names the URL: `Post "https://…": …`. */
  post(request: WebhookRequest): Promise<unknown>;
  /** Closes idle connections. */
  close(): void;
}

/** Maximum size of a response. */
const MAX_ANSWER_BYTES = 3 * 1024 * 1024;
/** Maximum number of configurations whose connections are kept open. */
const MAX_AGENTS = 64;
const DEFAULT_PORT = 443;

interface Destination {
  readonly url: URL;
  readonly address: { readonly host: string; readonly port: number };
  readonly serverName: string;
}

/** Creates a caller that finds Services through `objects`. */
export function createWebhookCaller(options: {
  readonly objects: ServiceObjects;
  readonly clock: Clock;
  readonly random: Random;
}): WebhookCaller {
  const agents = new Map<string, Agent>();

  const agentFor = (config: WebhookConfig): Agent => {
    const key = JSON.stringify(config);
    const agent = agents.get(key) ?? createHttpsAgent({ ca: authorities(config), minVersion: 'TLSv1.2' });
    // The map is in the order of last use.
    agents.delete(key);
    agents.set(key, agent);
    const [oldest] = agents;
    if (agents.size > MAX_AGENTS && oldest !== undefined) {
      retire(oldest[1]);
      agents.delete(oldest[0]);
    }
    return agent;
  };

  const post = async ({ config, body, timeoutMs, signal }: WebhookRequest): Promise<unknown> => {
    const { url, shown } = urlOf(config, timeoutMs);
    using deadline = withDeadline(options.clock, signal, timeoutMs);
    try {
      const destination = destinationOf(config, url, options);
      const answer = await exchange(destination, agentFor(config), JSON.stringify(body), deadline);
      if (answer.code < 200 || answer.code > 206) throw responseError(answer.code, answer.contentType, answer.body);
      return parseAnswer(answer.body);
    } catch (error) {
      signal.throwIfAborted();
      if (deadline.aborted) throw posted(shown, 'context deadline exceeded', error);
      throw error instanceof ConnectionError ? posted(shown, error.message, error) : error;
    }
  };

  return {
    post,
    close: () => {
      for (const agent of agents.values()) agent.destroy();
      agents.clear();
    },
  };
}

/** Closes the idle connections of an agent now, and its other connections when their calls have ended. */
function retire(agent: Agent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

/** The webhook has not responded. */
class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

function posted(shown: string, why: string, cause: unknown): WebhookCallError {
  return new WebhookCallError(`Post "${shown}": ${why}`, { cause });
}

interface Posted {
  readonly url: URL;
  /** The URL in messages. The URL of a Service always has its port. */
  readonly shown: string;
}

function urlOf({ url = '', service }: WebhookConfig, timeoutMs: number): Posted {
  const query = `timeout=${Math.ceil(timeoutMs / 1000)}s`;
  if (service === undefined) {
    if (!URL.canParse(url)) throw new WebhookCallError('webhook configuration must have either service or URL');
    const parsed = new URL(url);
    parsed.search = query;
    return { url: parsed, shown: parsed.href };
  }
  const { name, namespace, port = DEFAULT_PORT, path = '' } = service;
  const shown = `https://${name}.${namespace}.svc:${port}${rooted(path)}?${query}`;
  return { url: new URL(shown), shown };
}

function rooted(path: string): string {
  return path === '' || path.startsWith('/') ? path : `/${path}`;
}

function destinationOf(
  { service }: WebhookConfig,
  url: URL,
  { objects, random }: { readonly objects: ServiceObjects; readonly random: Random },
): Destination {
  const serverName = url.hostname.replace(/^\[|\]$/g, '');
  const port = service?.port ?? (url.port === '' ? DEFAULT_PORT : Number(url.port));
  if (service === undefined) return { url, address: { host: serverName, port }, serverName };
  const { namespace, name } = service;
  try {
    return { url, address: resolveService(objects, { namespace, name, port }, random), serverName };
  } catch (error) {
    if (error instanceof WebhookCallError) throw new ConnectionError(error.message, { cause: error });
    throw error;
  }
}

function authorities({ caBundle = '' }: WebhookConfig): string | string[] {
  return caBundle === '' ? [...rootCertificates] : Buffer.from(caBundle, 'base64').toString('utf8');
}

interface WebhookResponse {
  readonly code: number;
  readonly contentType: string;
  readonly body: Buffer;
}

function exchange(to: Destination, agent: Agent, body: string, signal: AbortSignal): Promise<WebhookResponse> {
  const { url, address, serverName } = to;
  const isAddress = /^[\d.]+$|:/.test(serverName);
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      const where = `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`;
      const told = transportError(error, where, serverName);
      reject(new ConnectionError(told.message, { cause: error }));
    };
    const outgoing = httpsRequest(
      {
        method: 'POST',
        host: address.host,
        port: address.port,
        path: `${url.pathname}${url.search}`,
        agent,
        signal,
        ...(isAddress ? {} : { servername: serverName }),
        headers: {
          host: url.host,
          'content-type': 'application/json',
          accept: 'application/json, */*',
          'user-agent': 'kube-apiserver-admission',
          'content-length': Buffer.byteLength(body),
        },
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        let size = 0;
        incoming.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > MAX_ANSWER_BYTES) incoming.destroy(new WebhookCallError('the response is too large'));
          else chunks.push(chunk);
        });
        incoming.on('error', fail);
        incoming.on('end', () => {
          const contentType = incoming.headers['content-type'] ?? '';
          resolve({ code: incoming.statusCode ?? 0, contentType, body: Buffer.concat(chunks) });
        });
      },
    );
    outgoing.on('error', fail);
    onUnaskedSwitch(outgoing, ({ statusCode: code = 0 }) => resolve({ code, contentType: '', body: Buffer.alloc(0) }));
    outgoing.end(body);
  });
}

function parseAnswer(body: Buffer): unknown {
  try {
    return parsePlainBody(body, 'json');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new WebhookCallError(`couldn't get version/kind; json parse error: json: cannot unmarshal: ${why}`, {
      cause: error,
    });
  }
}
