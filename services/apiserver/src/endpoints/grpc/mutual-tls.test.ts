import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { Activities, must, systemClock } from '@gantry/base';
import { grpcServer, silentLogger } from '@gantry/service';
import type { TlsMaterial } from '@gantry/tls';
import { expect, it } from 'vitest';
import { createTestPki } from '../../testing/test-pki.ts';

it('asks every client for a certificate of the authority, and shows the one that was renewed last', async () => {
  const pki = await createTestPki(systemClock.now());
  const [first, second] = await Promise.all(['first', 'second'].map((name) => pki.issue(name, [], ['apiserver'])));
  const client = await pki.issue('client', []);
  const stranger = await (await createTestPki(systemClock.now())).issue('client', []);
  let current = must(first, 'certificate');
  const listeners = new Set<(material: TlsMaterial) => void>();
  const listening = Promise.withResolvers<number>();
  const server = grpcServer({
    tls: {
      current: () => current,
      subscribe: (listener) => (listeners.add(listener), () => listeners.delete(listener)),
    },
    address: '127.0.0.1:0',
    services: [],
    clock: systemClock,
    activities: new Activities(systemClock),
    logger: silentLogger,
    toGrpcError: () => expect.unreachable(),
    onListening: listening.resolve,
  });
  const stop = new AbortController();
  const running = server.run(stop.signal);
  const port = await listening.promise;
  /** The server's name where it lets a client in, which it says by its first frame. */
  const greeted = (own: ConnectionOptions): Promise<string> => {
    const options = { port, host: '127.0.0.1', servername: 'apiserver', ALPNProtocols: ['h2'], ca: client.ca, ...own };
    const socket: TLSSocket = connect(options);
    socket.once('secureConnect', () => socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'));
    socket.on('error', () => undefined); // How it is refused differs with the moment; that it is closed does not.
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
  stop.abort();
  await running;
  await server.close?.();
});
