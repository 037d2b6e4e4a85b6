import { readFileSync } from 'node:fs';
import { type Agent, type IncomingHttpHeaders, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import type { Deployment } from '@gantry/objects';
import type { Cluster } from './cluster.ts';

/**
 * Answers with what it was asked, as JSON, at two ports; takes WebSockets, and repeats what these send. When it is to stop, it serves on
 * until it has had no request for three seconds.
 */
const ECHO = `
const { createServer } = require('http');
const { createHash } = require('crypto');
const name = require('os').hostname();
let end;
for (const port of [8080, 8081]) {
  const server = createServer((request, response) => {
    end?.refresh();
    request.resume().on('end', () => response.end(JSON.stringify({ name, port, url: request.url, headers: request.headers })));
  });
  server.keepAliveTimeout = 5000;
  server.on('upgrade', (request, socket) => {
    const accept = createHash('sha1').update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
    socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + '\\r\\n\\r\\n');
    socket.pipe(socket);
  });
  server.listen(port, '0.0.0.0');
}
process.on('SIGTERM', () => { end = setTimeout(() => process.exit(0), 3000); });
`;

/** For an answer that must come: longer than a busy machine takes. */
const ANSWER_MS = 60_000;

/** What the echo server says of a request. */
export interface Echo {
  readonly name: string;
  readonly port: number;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

/** A response: its status code and its body. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Servers behind Ingresses. */
export function echoDeployment(name: string, image: string): Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          terminationGracePeriodSeconds: 20,
          containers: [
            {
              name: 'echo',
              image,
              command: ['node', '-e', ECHO],
              readinessProbe: { tcpSocket: { port: 8081 }, periodSeconds: 1 },
            },
          ],
        },
      },
    },
  };
}

/** A client outside of the cluster, on this host. */
export class IngressClient {
  readonly httpPort: number;
  readonly httpsPort: number;

  constructor(cluster: Cluster) {
    const settings = readFileSync(join(cluster.home, 'env'), 'utf8');
    const port = (name: string) => Number(new RegExp(`^GANTRY_INGRESS_${name}_PORT=(\\d+)$`, 'm').exec(settings)?.[1]);
    this.httpPort = port('HTTP');
    this.httpsPort = port('HTTPS');
  }

  /** The answer to a request; fails where there is none in time. */
  ask(
    host: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
    { agent, timeoutMs = ANSWER_MS }: { readonly agent?: Agent | undefined; readonly timeoutMs?: number } = {},
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const target = {
        host: '127.0.0.1',
        port: this.httpPort,
        path,
        headers: { ...headers, host },
        timeout: timeoutMs,
      };
      const request = httpRequest({ ...target, ...(agent === undefined ? {} : { agent }) }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('error', reject).on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      });
      request.on('timeout', () => request.destroy(new Error('no answer')));
      request.on('error', reject).end();
    });
  }

  async echo(host: string, path: string, headers: Readonly<Record<string, string>> = {}): Promise<Echo> {
    const { status, text } = await this.ask(host, path, headers);
    if (status !== 200) throw new Error(`${host}${path}: ${status} ${text}`);
    return JSON.parse(text) as Echo;
  }

  /** The certificate that a host shows to a client that trusts `ca`, and the text of its response. */
  async secured(host: string, ca: string): Promise<{ readonly certificate: PeerCertificate; readonly text: string }> {
    const socket = connect({
      host: '127.0.0.1',
      port: this.httpsPort,
      servername: host,
      ca,
      ALPNProtocols: ['http/1.1'],
    });
    return await new Promise((resolve, reject) => {
      let text = '';
      socket.setTimeout(ANSWER_MS, () => socket.destroy(new Error('no answer')));
      socket.on('error', reject).on('data', (part: Buffer) => (text += part.toString('utf8')));
      socket.on('secureConnect', () => {
        const certificate = socket.getPeerCertificate();
        socket.on('close', () => resolve({ certificate, text }));
        socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      });
    });
  }

  /** What comes back through a WebSocket for what is sent into it. */
  webSocket(host: string, path: string, sent: string): Promise<string> {
    const headers = {
      host,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    };
    return new Promise((resolve, reject) => {
      const request = httpRequest({ host: '127.0.0.1', port: this.httpPort, path, headers, timeout: ANSWER_MS });
      request.on('timeout', () => request.destroy(new Error('no answer')));
      request.on('response', ({ statusCode }) => reject(new Error(`refused with ${statusCode ?? 0}`)));
      request.on('upgrade', (_response, socket) => {
        socket.on('data', (part: Buffer) => {
          resolve(part.toString('utf8'));
          socket.destroy();
        });
        socket.write(sent);
      });
      request.on('error', reject).end();
    });
  }
}
