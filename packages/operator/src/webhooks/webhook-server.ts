import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { errorMessage } from '@gantry/base';
import type { Log } from '@gantry/controller-runtime';
import { type KubeObject, StatusError } from '@gantry/objects';
import type { GroupMember } from '@gantry/service';
import { traced, type Tracer } from '../tracer.ts';
import type { AdmissionWebhook } from './admission.ts';
import type { CertificatePair } from './certificates.ts';
import type { ConvertibleKind } from './conversion.ts';
import { answerReview, type WebhookEndpoint, webhookEndpoints } from './reviews.ts';

export interface WebhookServerOptions {
  readonly host: string;
  readonly port: number;
  readonly admission: readonly AdmissionWebhook[];
  readonly conversions: readonly ConvertibleKind<KubeObject>[];
  readonly log: Log;
  readonly tracer: Tracer | undefined;
  /** Called after each request. */
  readonly onRequest: (report: { readonly webhook: string; readonly code: number; readonly seconds: number }) => void;
  readonly monotonicMs: () => number;
  /** Called with the port when it listens. */
  readonly onListen?: (port: number) => void;
}

/** A server that listens when it has its first certificate. */
export interface WebhookServer extends GroupMember {
  /** Connections from now on use this certificate; open ones stay. */
  serve(pair: CertificatePair): void;
  readonly isListening: () => boolean;
}

/** An AdmissionReview has two objects of at most 3 MiB each; a ConversionReview has a page of a list. */
const MAX_BYTES = 64 * 1024 * 1024;
/** API servers wait for 30 s at most. */
const REQUEST_MS = 30_000;

/** Serves the webhooks of an operator over HTTPS. */
export function webhookServer(options: WebhookServerOptions): WebhookServer {
  const endpoints = webhookEndpoints(options);
  const server = createServer({ minVersion: 'TLSv1.2', requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS });
  const first = Promise.withResolvers<void>();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    void respond(options, endpoints, request, response);
  });
  // A peer that breaks off, or does not trust the certificate. It is that peer's to report.
  server.on('tlsClientError', (error: Error) => options.log.info({ err: error.message }, 'a TLS handshake failed'));
  return {
    name: 'webhooks',
    serve: ({ certificate, key }) => {
      server.setSecureContext({ cert: certificate, key, minVersion: 'TLSv1.2' });
      first.resolve();
    },
    isListening: () => server.listening,
    run: async (signal) => await listen(server, options, first.promise, signal),
    drain: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeIdleConnections();
      await closed;
    },
  };
}

async function listen(
  server: Server,
  { host, port, onListen }: WebhookServerOptions,
  ready: Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const ended = new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
  try {
    await Promise.race([ended, ready]);
    if (signal.aborted) return;
    server.listen(port, host, () => {
      const address = server.address();
      if (typeof address === 'object' && address !== null) onListen?.(address.port);
    });
    await ended;
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

async function respond(
  options: WebhookServerOptions,
  endpoints: ReadonlyMap<string, WebhookEndpoint>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const startMs = options.monotonicMs();
  const [path = ''] = (request.url ?? '').split('?');
  const endpoint = endpoints.get(path);
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const send = (code: number, body: string): void => {
    if (endpoint !== undefined) {
      const seconds = (options.monotonicMs() - startMs) / 1000;
      options.onRequest({ webhook: endpoint.name, code, seconds });
    }
    response.writeHead(code, {
      'content-type': code === 200 ? 'application/json' : 'text/plain; charset=utf-8',
      // What of the body was not read is not waited for.
      ...(request.complete ? {} : { connection: 'close' }),
    });
    response.end(body);
  };
  if (endpoint === undefined) {
    send(404, 'not found');
    return;
  }
  try {
    const { tracer } = options;
    const body = await traced(tracer, `webhook ${endpoint.name}`, { webhook: endpoint.name }, () =>
      read(request).then((text) => answerReview(endpoint, parseReview(text), gone.signal)),
    );
    send(200, JSON.stringify(body));
  } catch (error) {
    if (gone.signal.aborted) return;
    const isBad = error instanceof StatusError && error.code === 400;
    if (!isBad) options.log.error({ webhook: endpoint.name, err: errorMessage(error) }, 'a webhook failed');
    send(isBad ? 400 : 500, errorMessage(error));
  }
}

function parseReview(text: string): object {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw StatusError.badRequest(`the body is no JSON: ${errorMessage(error)}`);
  }
  return typeof body === 'object' && body !== null ? body : {};
}

async function read(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw StatusError.badRequest(`the body is larger than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
