import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { Activities, must, systemClock } from '@gantry/base';
import { grpcServer, silentLogger } from '@gantry/service';
import { fixedTls, type TlsMaterial, type TlsSource } from '@gantry/tls';
import { expect, it, onTestFinished } from 'vitest';
import { createTestPki } from '../../testing/test-pki.ts';

/** Serves until the end of the test. Returns the port. */
async function serve(tls: TlsSource, more: Partial<Parameters<typeof grpcServer>[0]> = {}): Promise<number> {
  const listening = Promise.withResolvers<number>();
  const server = grpcServer({
    ...{ tls, address: '127.0.0.1:0', services: [], clock: systemClock, activities: new Activities(systemClock) },
    ...{ logger: silentLogger, toGrpcError: () => expect.unreachable(), onListening: listening.resolve, ...more },
  });
  const stop = new AbortController();
  const running = server.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
    await server.close?.();
  });
  return await listening.promise;
}

it('asks every client for a certificate of the authority, and shows the one that was renewed last', async () => {
  const pki = await createTestPki(systemClock.now());
  const [first, second] = await Promise.all(['first', 'second'].map((name) => pki.issue(name, [], ['apiserver'])));
  const client = await pki.issue('client', []);
  const stranger = await (await createTestPki(systemClock.now())).issue('client', []);
  let current = must(first, 'certificate');
  const listeners = new Set<(material: TlsMaterial) => void>();
  const port = await serve({
    current: () => current,
    subscribe: (listener) => (listeners.add(listener), () => listeners.delete(listener)),
  });
  /** Resolves with the server's name when the server accepts the client, which its first frame shows. */
  const greeted = (own: ConnectionOptions): Promise<string> => {
    const options = { port, host: '127.0.0.1', servername: 'apiserver', ALPNProtocols: ['h2'], ca: client.ca, ...own };
    const socket: TLSSocket = connect(options);
    socket.once('secureConnect', () => socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'));
    socket.on('error', () => undefined); // The error of the rejection varies, so only the close is checked.
    return new Promise((resolve) => {
      socket.once('close', () => resolve('refused'));
      socket.once('data', () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      });
    });
  };
  expect(await greeted(client)).toBe('first');
  expect(await greeted({})).toBe('refused');
  expect(await greeted({ cert: stranger.cert, key: stranger.key })).toBe('refused');
  current = must(second, 'certificate');
  for (const listener of listeners) listener(current);
  expect(await greeted(client)).toBe('second');
});

it.each([
  { offered: ['h2'], as: 'client', by: 'gRPC' },
  { offered: ['h2'], as: 'nobody', by: 'nobody' },
  { offered: ['h2', 'http/1.1'], as: 'client', by: 'HTTP' },
  { offered: ['http/1.1'], as: 'nobody', by: 'HTTP' },
  { offered: undefined, as: 'nobody', by: 'HTTP' },
  { offered: ['spdy/3'], as: 'client', by: 'nobody' },
])('with HTTP beside it, $by serves a client that offers $offered, with the certificate of $as', async (given) => {
  const pki = await createTestPki(systemClock.now());
  const tls = fixedTls(await pki.issue('server', [], ['apiserver']));
  const port = await serve(tls, { http: (socket) => socket.end('HTTP') });
  const { ca, cert, key } = await pki.issue('client', []);
  const offered = given.offered === undefined ? {} : { ALPNProtocols: given.offered };
  const own = given.as === 'client' ? { cert, key } : {};
  const socket = connect({ port, host: '127.0.0.1', servername: 'apiserver', ca, ...offered, ...own });
  socket.once('secureConnect', () => socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'));
  socket.on('error', () => undefined);
  const by = await new Promise<string>((resolve) => {
    socket.once('close', () => resolve('nobody'));
    socket.once('data', (data: Buffer) => resolve(String(data) === 'HTTP' ? 'HTTP' : 'gRPC'));
  });
  expect(by).toBe(given.by);
  socket.destroy();
});

it('closes a second connection from the same address and port, to another address of the server', async () => {
  const pki = await createTestPki(systemClock.now());
  const port = await serve(fixedTls(await pki.issue('server', [], ['apiserver'])), { address: '0.0.0.0:0' });
  const open = async (host: string, user: string, localPort?: number) => {
    const { ca, cert, key } = await pki.issue(user, []);
    const local = { localAddress: '127.0.0.1', ...(localPort === undefined ? {} : { localPort }) };
    const options = { host, port, servername: 'apiserver', ALPNProtocols: ['h2'], ca, cert, key, ...local };
    const socket = connect(options);
    socket.once('secureConnect', () => socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'));
    socket.on('error', () => undefined);
    const state = await new Promise<string>((resolve) => {
      socket.once('close', () => resolve('closed'));
      socket.once('data', () => resolve('open'));
    });
    return { socket, state, localPort: socket.localPort };
  };
  const first = await open('127.0.0.1', 'first');
  expect(first.state).toBe('open');
  const second = await open('127.0.0.2', 'second', first.localPort);
  expect(second.state).toBe('closed');
  first.socket.destroy();
});
