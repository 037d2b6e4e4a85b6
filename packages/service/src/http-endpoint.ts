import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { errorMessage } from '@gantry/base';
import type { Health } from './health.ts';
import type { Metrics } from './metrics.ts';
import type { GroupMember } from './run-group.ts';

/** The state that the endpoint reports, and the address of the endpoint. */
export interface HttpEndpointOptions {
  readonly health: Health;
  readonly metrics: Metrics;
  /** 127.0.0.1 when absent. */
  readonly host?: string;
  /** 10255 when absent. */
  readonly port?: number;
}

/** Serves `/livez`, `/readyz` and `/metrics` over plain HTTP, for use inside the container. */
export function httpEndpoint(options: HttpEndpointOptions): GroupMember {
  const { host = '127.0.0.1', port = 10255 } = options;
  const server = createServer((request, response) => {
    answer(options, request).then(
      ({ code, contentType, text }) => send(response, code, contentType, text),
      (error: unknown) => send(response, 500, 'text/plain; charset=utf-8', errorMessage(error)),
    );
  });
  return { name: 'http-endpoint', run: (signal) => serve(server, host, port, signal) };
}

interface Reply {
  readonly code: number;
  readonly contentType: string;
  readonly text: string;
}

async function answer({ health, metrics }: HttpEndpointOptions, request: IncomingMessage): Promise<Reply> {
  const path = (request.url ?? '').split('?')[0];
  switch (path) {
    case '/livez':
    case '/healthz':
      return verdict(await health.live());
    case '/readyz':
      return verdict(await health.ready());
    case '/metrics':
      return { code: 200, ...(await metrics.render()) };
    default:
      return { code: 404, contentType: 'text/plain; charset=utf-8', text: 'not found' };
  }
}

function verdict(failures: readonly string[]): Reply {
  const contentType = 'text/plain; charset=utf-8';
  return failures.length === 0
    ? { code: 200, contentType, text: 'ok' }
    : { code: 503, contentType, text: failures.join('\n') };
}

function send(response: ServerResponse, code: number, contentType: string, text: string): void {
  response.writeHead(code, { 'content-type': contentType });
  response.end(text);
}

function serve(server: Server, host: string, port: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.once('close', () => resolve());
    signal.addEventListener(
      'abort',
      () => {
        server.close();
        server.closeAllConnections();
      },
      { once: true },
    );
    server.listen(port, host);
  });
}
