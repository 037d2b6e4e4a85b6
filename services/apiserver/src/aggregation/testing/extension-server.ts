import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { TlsMaterial } from '@gantry/tls';

/** A request that an extension server has received. */
export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  /** The common name of the client certificate. */
  readonly shown: string;
  readonly body: string;
}

export interface ExtensionServer extends AsyncDisposable {
  readonly port: number;
  readonly asked: Asked[];
  /** Closes the idle connections. */
  closeConnections(): void;
  /** Handlers by path. Other paths are 404. */
  readonly routes: Map<string, (request: IncomingMessage, response: ServerResponse, body: string) => void>;
}

const GROUP = 'wardle.example.com';
const RESOURCES = [
  { name: 'flunders', singularName: 'flunder', namespaced: true, kind: 'Flunder', verbs: ['create', 'get', 'list'] },
  { name: 'flunders/status', singularName: '', namespaced: true, kind: 'Flunder', verbs: ['get', 'update'] },
];

/** Starts an extension server for a test on 127.0.0.1, with discovery of `wardle.example.com/v1` and the given routes. */
export async function startExtensionServer(tls: TlsMaterial, clientCa: Buffer | string): Promise<ExtensionServer> {
  const asked: Asked[] = [];
  const routes: ExtensionServer['routes'] = new Map();
  const json = (value: object) => (_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  };
  const list = { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: `${GROUP}/v1`, resources: RESOURCES };
  routes.set(`/apis/${GROUP}/v1`, json(list));
  routes.set(`/openapi/v3/apis/${GROUP}/v1`, json(openApi()));
  const server = createServer(
    { cert: tls.cert, key: tls.key, ca: clientCa, requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (part: string) => (body += part));
      request.on('end', () => {
        const socket = request.socket as TLSSocket;
        const shown = socket.authorized ? String(socket.getPeerCertificate().subject.CN) : '';
        const { method = '', url = '', headers } = request;
        asked.push({ method, url, headers, shown, body });
        const route = routes.get(new URL(url, 'https://e').pathname);
        if (route === undefined) response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found\n');
        else route(request, response, body);
      });
    },
  );
  server.on('upgrade', (request, socket: Duplex) => {
    asked.push({ method: 'UPGRADE', url: request.url ?? '', headers: request.headers, shown: '', body: '' });
    socket.on('error', () => socket.destroy());
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
    socket.pipe(socket);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    routes,
    closeConnections: () => server.closeIdleConnections(),
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((done) => server.close(() => done()));
      server.closeAllConnections();
      await closed;
    },
  };
}

function openApi(): object {
  const schema = { $ref: '#/components/schemas/com.example.wardle.v1.Flunder' };
  const content = { 'application/json': { schema } };
  return {
    openapi: '3.0.0',
    info: { title: 'wardle', version: '1' },
    paths: {
      [`/apis/${GROUP}/v1/namespaces/{namespace}/flunders/{name}`]: {
        get: { operationId: 'readFlunder', parameters: [], responses: { 200: { description: 'OK', content } } },
      },
      '/healthz': { get: { operationId: 'health', responses: {} } },
    },
    components: { schemas: { 'com.example.wardle.v1.Flunder': { type: 'object', description: 'A fish.' } } },
  };
}
