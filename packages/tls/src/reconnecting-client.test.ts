import { once } from 'node:events';
import { createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { systemClock } from '@gantry/base';
import { Client, credentials } from '@grpc/grpc-js';
import { expect, it, onTestFinished } from 'vitest';
import { ReconnectingClient } from './reconnecting-client.ts';

/** A server that accepts connections, and speaks HTTP/2 with those that `isAnswered`, by their number. */
async function start(isAnswered: (connection: number) => boolean) {
  const http2 = createHttp2Server();
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    if (isAnswered(sockets.length)) http2.emit('connection', socket);
    else socket.on('data', () => undefined).on('error', () => undefined);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return { port, http2, connections: () => sockets.length };
}

function connect(port: number, connectMs: number): ReconnectingClient {
  const connection = new ReconnectingClient(
    (options) => new Client(`127.0.0.1:${port}`, credentials.createInsecure(), options),
    systemClock,
    connectMs,
  );
  onTestFinished(() => connection.close());
  return connection;
}

/** Whether the client is connected, false if it was given up. */
async function isReady({ client }: ReconnectingClient): Promise<boolean> {
  return await new Promise((resolve) => client.waitForReady(Infinity, (error) => resolve(error === undefined)));
}

it('gives up an attempt that takes too long, and connects by another one', async () => {
  const server = await start((connection) => connection > 2);
  const connection = connect(server.port, 50);
  const first = connection.client;
  first.getChannel().getConnectivityState(true);
  await once(server.http2, 'session');
  // On a slow machine also this attempt may be given up.
  while (!(await isReady(connection)));
  expect(connection.client).not.toBe(first);
  expect(server.connections()).toBeGreaterThan(2);
});

it('keeps a connection that was made in time', async () => {
  const server = await start(() => true);
  const connection = connect(server.port, 60_000);
  const { client } = connection;
  expect(await isReady(connection)).toBe(true);
  expect(connection.client).toBe(client);
  expect(server.connections()).toBe(1);
});
