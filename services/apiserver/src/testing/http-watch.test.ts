import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net';
import { PODS } from '@gantry/objects';
import { systemClock } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { createHttpClient } from '@gantry/client';
import { fixedTls } from '@gantry/tls';
import { expect, it, onTestFinished } from 'vitest';
import { createTestPki } from './test-pki.ts';

/** Starts a server with the given responses, and a client for it. `asked` is the number of earlier requests. */
async function startServer(answer: (asked: number, response: ServerResponse) => void) {
  const pki = await createTestPki(systemClock.now());
  const tls = await pki.issue('server', [], ['localhost']);
  const clock = new ManualClock();
  const asked: (string | undefined)[] = [];
  const server = createServer({ ...tls }, (request, response) => answer(asked.push(request.url) - 1, response));
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = createHttpClient({ server: `https://localhost:${port}`, tls: fixedTls(tls), clock });
  onTestFinished(() => {
    client[Symbol.dispose]();
    server.close();
    server.closeAllConnections();
  });
  return { client, clock, asked };
}

it('tells why a watch over HTTPS was refused, though the next one would be served', async () => {
  const { client, asked } = await startServer((before, response) => {
    if (before === 0) response.writeHead(503).end('out of order');
    else response.writeHead(200).flushHeaders();
  });
  const stop = new AbortController();
  const watch = client.watch(PODS, {}, stop.signal);
  const first = watch[Symbol.asyncIterator]().next();
  await expect(first).rejects.toMatchObject({ reason: 'ServiceUnavailable', message: 'out of order' });
  expect(asked).toHaveLength(1);
  stop.abort();
});

it('asks again after 5 s where a server does not begin to answer, and gives one that does its time', async () => {
  const ending = Promise.withResolvers<() => void>();
  const { client, clock, asked } = await startServer((before, response) => {
    if (before === 0) return;
    response.writeHead(200).write('{"kind":"PodList",');
    ending.resolve(() => response.end('"items":[],"metadata":{"resourceVersion":"7"}}'));
  });
  const { signal } = new AbortController();
  const listed = client.list(PODS, {}, signal);
  await expect.poll(() => asked.length).toBe(1);
  await clock.advance(5000);
  await expect.poll(() => clock.nextTimerMs()).toBe(150);
  await clock.advance(150);
  const end = await ending.promise;
  // Only the timer for the whole response is left.
  await expect.poll(() => clock.nextTimerMs()).toBe(30_000);
  await clock.advance(20_000);
  end();
  expect(await listed).toMatchObject({ items: [], resourceVersion: '7' });
  expect(asked).toHaveLength(2);
});

it('asks again after 5 s also for a path', async () => {
  const { client, clock, asked } = await startServer((before, response) => {
    if (before > 0) response.writeHead(200).end('ok');
  });
  const text = client.raw({ method: 'GET', path: '/readyz' }, new AbortController().signal);
  await expect.poll(() => asked.length).toBe(1);
  await clock.advance(5000);
  await expect.poll(() => clock.nextTimerMs()).toBe(150);
  await clock.advance(150);
  expect(await text).toBe('ok');
});

it('refused connections do not lengthen how long a read waits for a response to begin', async () => {
  const { client, clock, asked } = await startServer((before, response) => {
    // A load balancer without servers closes connections.
    if (before < 2) response.socket?.destroy();
    else if (before === 3)
      response.writeHead(200).end('{"kind":"PodList","items":[],"metadata":{"resourceVersion":"7"}}');
  });
  const listed = client.list(PODS, {}, new AbortController().signal);
  for (const retryMs of [150, 300]) {
    await expect.poll(() => clock.nextTimerMs()).toBe(retryMs);
    await clock.advance(retryMs);
  }
  await expect.poll(() => asked.length).toBe(3);
  expect(clock.nextTimerMs()).toBe(5000);
  await clock.advance(5000);
  await expect.poll(() => clock.nextTimerMs()).toBe(450);
  await clock.advance(450);
  expect(await listed).toMatchObject({ resourceVersion: '7' });
});

it('a watch that does not begin is opened again, three times in all', async () => {
  const { client, clock, asked } = await startServer(() => undefined);
  const watch = client.watch(PODS, {}, new AbortController().signal);
  const first = expect(watch[Symbol.asyncIterator]().next()).rejects.toMatchObject({ reason: 'ServiceUnavailable' });
  for (const [count, headMs] of [5000, 10_000, 30_000].entries()) {
    await expect.poll(() => asked.length).toBe(count + 1);
    expect(clock.nextTimerMs()).toBe(headMs);
    await clock.advance(headMs);
  }
  await first;
});

it('gives up a connection that is not made within 4 s, and makes another one', async () => {
  const pki = await createTestPki(systemClock.now());
  const tls = await pki.issue('server', [], ['localhost']);
  const clock = new ManualClock();
  const list = '{"kind":"PodList","items":[],"metadata":{"resourceVersion":"7"}}';
  const server = createServer({ ...tls }, (_, response) => response.writeHead(200).end(list));
  const sockets: Socket[] = [];
  // The first connection is accepted and never answered, like one whose packets are dropped.
  const front = createNetServer((socket) => {
    if (sockets.push(socket) > 1) server.emit('connection', socket);
  });
  front.listen(0, 'localhost');
  await once(front, 'listening');
  const { port } = front.address() as AddressInfo;
  const client = createHttpClient({ server: `https://localhost:${port}`, tls: fixedTls(tls), clock });
  onTestFinished(() => {
    client[Symbol.dispose]();
    front.close();
    for (const socket of sockets) socket.destroy();
  });
  const listed = client.list(PODS, {}, new AbortController().signal);
  await expect.poll(() => sockets.length).toBe(1);
  await clock.advance(4000);
  // The delay before the next attempt.
  await expect.poll(() => clock.nextTimerMs()).toBe(150);
  await clock.advance(150);
  expect(await listed).toMatchObject({ resourceVersion: '7' });
  expect(sockets).toHaveLength(2);
});
