import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { ManualClock } from '@gantry/base/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chooseProtocol } from './choose-protocol.ts';
import { offeredProtocols } from './client-hello.ts';

let seen: { readonly how: string; readonly bytes: Promise<Buffer> }[];
let arrived: PromiseWithResolvers<unknown>;
let server: ReturnType<typeof createServer>;
let clients: Socket[];
let clock: ManualClock;
let accepted: PromiseWithResolvers<unknown>;

beforeEach(async () => {
  seen = [];
  clients = [];
  clock = new ManualClock();
  accepted = Promise.withResolvers();
  arrived = Promise.withResolvers();
  const take = (how: string) => (socket: Socket) => {
    seen.push({ how, bytes: once(socket, 'data').then(([bytes]) => bytes as Buffer) });
    arrived.resolve(undefined);
  };
  server = createServer((socket) => {
    clients.push(socket);
    chooseProtocol(socket, clock, { grpc: take('grpc'), http: take('http') });
    accepted.resolve(undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  for (const client of clients) client.destroy();
  server.close();
});

const port = () => (server.address() as AddressInfo).port;

/** What a TLS client sends first. */
async function hello(protocols: readonly string[]): Promise<Buffer> {
  const listener = createServer();
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port: to } = listener.address() as AddressInfo;
  const offered = protocols.length === 0 ? {} : { ALPNProtocols: [...protocols] };
  const client = connectTls({ host: '127.0.0.1', port: to, servername: 'node-a', ...offered });
  client.on('error', () => undefined);
  const [socket] = (await once(listener, 'connection')) as [Socket];
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  socket.destroy();
  listener.close();
  return bytes;
}

it.each([
  [['h2'], 'grpc'],
  [['h2', 'http/1.1'], 'http'],
  [['http/1.1'], 'http'],
  [[], 'http'],
])('a client that offers %j is served by %s, with all its bytes, however they arrive', async (protocols, how) => {
  const bytes = await hello(protocols);
  const client = connect(port(), '127.0.0.1');
  clients.push(client);
  await once(client, 'connect');
  client.write(bytes.subarray(0, 3));
  client.write(bytes.subarray(3, 60));
  await new Promise((resolve) => setImmediate(resolve));
  client.write(bytes.subarray(60));
  await arrived.promise;
  expect(seen.map((one) => one.how)).toEqual([how]);
  expect(await seen[0]?.bytes).toEqual(bytes);
});

it('a client without TLS is served by http, which refuses it', async () => {
  const client = connect(port(), '127.0.0.1');
  clients.push(client);
  client.write('GET / HTTP/1.1\r\n\r\n');
  await arrived.promise;
  expect(seen[0]?.how).toBe('http');
});

it('a client whose first message has no end is left', async () => {
  const client = connect(port(), '127.0.0.1');
  clients.push(client);
  client.on('error', () => undefined);
  client.end(Buffer.from([22, 3, 1, 0xff, 0xff, 1]));
  await once(client, 'close');
  expect(seen).toEqual([]);
});

it('a client that sends its first message byte by byte is left in time', async () => {
  const client = connect(port(), '127.0.0.1');
  clients.push(client);
  client.on('error', () => undefined);
  client.resume();
  await accepted.promise;
  const closed = once(client, 'close');
  client.write(Buffer.from([22]));
  await clock.advance(9_999);
  expect(client.closed).toBe(false);
  client.write(Buffer.from([3]));
  await clock.advance(1);
  await closed;
  expect(seen).toEqual([]);
});

it('a client that has been served is left to its protocol', async () => {
  const client = connect(port(), '127.0.0.1');
  clients.push(client);
  client.write('GET / HTTP/1.1\r\n\r\n');
  await arrived.promise;
  expect(clock.nextTimerMs()).toBeUndefined();
});

describe('the first message of a client', () => {
  it('is read from any number of its bytes without failing', async () => {
    const bytes = await hello(['h2', 'http/1.1']);
    for (let size = 0; size < bytes.length; size++)
      expect(offeredProtocols(bytes.subarray(0, size))).toBe('incomplete');
    expect(offeredProtocols(bytes)).toEqual(['h2', 'http/1.1']);
    for (let at = 5; at < bytes.length; at++) {
      const broken = Buffer.from(bytes);
      broken[at] = 0xff;
      expect(() => offeredProtocols(broken)).not.toThrow();
    }
  });
});
