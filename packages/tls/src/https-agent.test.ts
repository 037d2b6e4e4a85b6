import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { IncomingMessage } from 'node:http';
import * as x509 from '@peculiar/x509';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createHttpsAgent } from './https-agent.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const IDLE_MS = 20;

let server: Server;
let closed: { readonly promise: Promise<void>; readonly resolve: () => void };
/** The server's next response ends after this. */
let pause = Promise.resolve();

beforeAll(async () => {
  x509.cryptoProvider.set(webcrypto);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=server',
    signingAlgorithm: ALGORITHM,
    keys,
  });
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  const material = { cert: certificate.toString('pem'), key: x509.PemConverter.encode(key, 'PRIVATE KEY') };
  // The server has no timeout and announces none: only the client closes connections.
  server = createServer({ ...material, keepAliveTimeout: 0 }, (_request, response) => {
    response.write('a');
    void pause.then(() => response.end('b'));
  });
  server.on('secureConnection', (socket: Socket) => socket.once('close', () => closed.resolve()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

beforeEach(() => {
  closed = Promise.withResolvers<void>();
  pause = Promise.resolve();
});

afterAll(() => server.close());

async function get(agent: ReturnType<typeof createHttpsAgent>): Promise<IncomingMessage> {
  const { port } = server.address() as AddressInfo;
  const call = request({ host: '127.0.0.1', port, agent, rejectUnauthorized: false });
  call.end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  return response;
}

it('closes a connection that has been idle for the time', async () => {
  const agent = createHttpsAgent({}, IDLE_MS);
  expect(await text(await get(agent))).toBe('ab');
  await closed.promise;
  agent.destroy();
});

it('does not end a response that pauses for longer', async () => {
  const agent = createHttpsAgent({}, IDLE_MS);
  const resumed = Promise.withResolvers<void>();
  pause = resumed.promise;
  const response = await get(agent);
  // The socket's timeout, which ends this wait, is the timeout for idle connections.
  await once(response.socket, 'timeout');
  resumed.resolve();
  expect(await text(response)).toBe('ab');
  agent.destroy();
});

it('keeps a connection for less than the server announces', async () => {
  const agent = createHttpsAgent({});
  server.keepAliveTimeout = 3000;
  const free = once(agent, 'free');
  const response = await get(agent);
  const { socket } = response;
  expect(await text(response)).toBe('ab');
  server.keepAliveTimeout = 0;
  await free;
  expect(socket.timeout).toBe(2000);
  agent.destroy();
});
