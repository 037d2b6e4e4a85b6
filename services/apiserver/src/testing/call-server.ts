import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import https from 'node:https';
import { gunzipSync } from 'node:zlib';
import type { KubeObject } from '@gantry/objects';
import type { TestApiServer } from './start-api-server.ts';

export interface Reply {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  /** The bytes of the body as received. They are compressed if the response is. */
  readonly bytes: Buffer;
  /** The body as JSON, parsed at the first use. Not available for a watch. */
  readonly json: Record<string, never> & { [key: string]: unknown };
}

export interface CallOptions {
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  /** The user of the request. Defaults to the administrator. */
  readonly as?: 'anonymous' | { readonly cert: Buffer; readonly key: Buffer };
  /** The agent with the connections. By default the request has its own connection. */
  readonly agent?: https.Agent;
}

/** Sends one request and reads the whole response. */
export function callServer(
  server: TestApiServer,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Reply> {
  const as = options.as ?? server.admin;
  const identity = as === 'anonymous' ? {} : { cert: as.cert, key: as.key };
  const { body = '' } = options;
  const headers = { 'content-length': String(Buffer.byteLength(body)), ...options.headers };
  return new Promise((resolve, reject) => {
    const request = https.request(
      {
        host: '127.0.0.1',
        port: server.restPort,
        path,
        method,
        ca: server.pki.ca,
        agent: options.agent ?? false,
        ...identity,
        headers,
      },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', reject);
        response.on('end', () => {
          const bytes = Buffer.concat(parts);
          resolve(replyOf(response, bytes));
        });
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

function replyOf({ statusCode, headers }: IncomingMessage, bytes: Buffer): Reply {
  let json: Reply['json'] | undefined;
  return {
    code: statusCode ?? 0,
    headers,
    bytes,
    get json() {
      const isJson = headers['content-type']?.startsWith('application/json') ?? false;
      const plain = headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes;
      json ??= (isJson ? JSON.parse(plain.toString()) : {}) as Reply['json'];
      return json;
    },
  };
}

/** Yields the events of a watch by the administrator. The watch ends when the caller stops the iteration. */
export async function* watchServer(
  { admin, pki, restPort: port }: TestApiServer,
  path: string,
): AsyncGenerator<{ readonly type: string; readonly object: KubeObject & { readonly [field: string]: unknown } }> {
  const identity = { ca: pki.ca, cert: admin.cert, key: admin.key };
  const request = https.get({ host: '127.0.0.1', port, path, agent: false, ...identity });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let rest = '';
  for await (const data of response) {
    const lines = `${rest}${data}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines.map((line) => JSON.parse(line));
  }
}
