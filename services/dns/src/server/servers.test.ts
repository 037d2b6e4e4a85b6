import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { ManualClock } from '@gantry/base/testing';
import type { GroupMember } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { exchange } from '../forward/exchange.ts';
import { QuestionQueue } from './question-queue.ts';
import { createServerTotals, type ServerTotals } from './server-totals.ts';
import { tcpServer } from './tcp-server.ts';
import { udpServer } from './udp-server.ts';

/** Repeats a packet immediately. If the packet begins with 1, repeats it later. If it begins with 2, does not repeat it. */
const responder = {
  respond: (packet: Buffer) => (packet[0] === 2 ? undefined : packet[0] === 1 ? Promise.resolve(packet) : packet),
};

describe.each(['udp', 'tcp'] as const)('the server over %s', (transport) => {
  let stop: AbortController;
  let done: Promise<void>;
  let totals: ServerTotals;
  let clock: ManualClock;
  let port: number;
  beforeEach(async () => {
    stop = new AbortController();
    clock = new ManualClock();
    totals = createServerTotals(clock);
    const listening = Promise.withResolvers<number>();
    const queue = new QuestionQueue();
    const options = { responder, host: '127.0.0.1', port: 0, totals, queue, clock, onListening: listening.resolve };
    const member: GroupMember = transport === 'udp' ? udpServer(options) : tcpServer(options);
    done = member.run(stop.signal);
    port = await listening.promise;
  });
  afterEach(async () => {
    stop.abort();
    await done;
  });
  const ask = (packet: Buffer) =>
    exchange({ address: '127.0.0.1', port }, packet, (bytes) => bytes, { transport, signal: stop.signal });

  it.each([0, 1])('answers at once or later (%i), and counts it', async (first) => {
    const packet = Buffer.from([first, 1, 2, 0x83, 4]);
    expect(await ask(packet)).toEqual(packet);
    expect(totals).toMatchObject({ [transport]: 1, unsent: 0 });
    expect(totals.codes[3]).toBe(1);
    expect(totals.loop.counts()).toMatchObject({ total: 1, failed: 0 });
  });

  it('counts an answer that says that there is none as failed', async () => {
    await ask(Buffer.from([0, 1, 2, 0x82, 4]));
    expect(totals.loop.counts()).toMatchObject({ total: 1, failed: 1 });
  });

  it('sends nothing where there is no response', async () => {
    const silent = ask(Buffer.from([2, 0, 0, 0]));
    expect(await ask(Buffer.from([0, 0, 0, 0]))).toHaveLength(4);
    stop.abort();
    await expect(silent).rejects.toBeDefined();
  });
});

describe('the server over TCP', () => {
  let stop: AbortController;
  let clock: ManualClock;
  let client: Socket;
  let done: Promise<void>;
  let received: Buffer;
  let port: number;
  beforeEach(async () => {
    stop = new AbortController();
    clock = new ManualClock();
    const listening = Promise.withResolvers<number>();
    const totals = createServerTotals(clock);
    const options = { responder, host: '127.0.0.1', port: 0, totals, onListening: listening.resolve, clock };
    done = tcpServer({ ...options, queue: new QuestionQueue() }).run(stop.signal);
    port = await listening.promise;
    client = createConnection({ host: '127.0.0.1', port });
    received = Buffer.alloc(0);
    client.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
    });
    await once(client, 'connect');
  });
  afterEach(async () => {
    client.destroy();
    stop.abort();
    await done;
  });

  it('answers packets that arrive in pieces and several at a time', async () => {
    const packets = Array.from({ length: 500 }, (_, i) => Buffer.from([0, 4, 0, 0, i >> 8, i & 255]));
    const all = Buffer.concat(packets);
    client.write(all.subarray(0, 7));
    client.write(all.subarray(7, 9));
    client.write(all.subarray(9));
    await expect.poll(() => received.length).toBe(all.length);
    expect(received.equals(all)).toBe(true);
  });

  it('closes a connection that says nothing', async () => {
    const closed = once(client, 'close');
    client.write(Buffer.from([0]));
    await clock.advance(10_000);
    await closed;
  });

  it('has a number of connections for one client, whose places are free when they end', async () => {
    const open = async () => {
      const socket = createConnection({ host: '127.0.0.1', port });
      onTestFinished(() => void socket.destroy());
      socket.on('error', () => undefined);
      socket.write(Buffer.from([0, 1, 0]));
      const ended = new Promise<undefined>((resolve) => socket.once('close', () => resolve(undefined)));
      return await Promise.race([once(socket, 'data').then(() => socket), ended]);
    };
    const last = [];
    for (let count = 1; count < 64; count++) last.push(await open());
    expect(last).not.toContain(undefined);
    expect(await open()).toBeUndefined();
    // The server ends its side. Then its place is free.
    last[0]?.end();
    await once(last[0] ?? client, 'close');
    expect(await open()).toBeDefined();
  });

  it('goes on after a client that broke off', async () => {
    client.write(Buffer.from([0, 200, 1]));
    client.resetAndDestroy();
    await once(client, 'close');
    const packet = Buffer.from([0, 1, 0, 0]);
    const over = { transport: 'tcp', signal: stop.signal } as const;
    expect(await exchange({ address: '127.0.0.1', port }, packet, (bytes) => bytes, over)).toEqual(packet);
  });
});

it('few large answers of a TCP connection wait to be sent, however many questions it asks at once', async () => {
  const stop = new AbortController();
  const listening = Promise.withResolvers<number>();
  const clock = new ManualClock();
  const totals = createServerTotals(clock);
  const large = Buffer.alloc(60_000);
  let most = 0;
  const counting = {
    respond: () => {
      most = Math.max(most, totals.tcp - (totals.codes[0] ?? 0));
      return large;
    },
  };
  const options = { host: '127.0.0.1', port: 0, totals, onListening: listening.resolve, clock };
  const done = tcpServer({ ...options, responder: counting, queue: new QuestionQueue() }).run(stop.signal);
  const client = createConnection({ host: '127.0.0.1', port: await listening.promise });
  let received = 0;
  client.on('data', (bytes) => {
    received += bytes.length;
  });
  client.write(Buffer.concat(Array.from({ length: 60 }, () => Buffer.from([0, 2, 0, 0]))));
  await expect.poll(() => received).toBe(60 * (large.length + 2));
  expect(most).toBeLessThanOrEqual(3);
  client.destroy();
  stop.abort();
  await done;
});

it('the server over UDP drops the questions of an address that has its share waiting, and answers another address', async () => {
  const stop = new AbortController();
  const listening = Promise.withResolvers<number>();
  const clock = new ManualClock();
  const totals = createServerTotals(clock);
  const queue = new QuestionQueue();
  const options = { responder, host: '127.0.0.1', port: 0, totals, queue, clock, onListening: listening.resolve };
  const done = udpServer(options).run(stop.signal);
  const port = await listening.promise;
  // Questions of this address that are not answered meanwhile.
  let answered = 0;
  const wait = () => {
    if (totals.dropped === 0) queue.add('127.0.0.1', wait);
    return ++answered;
  };
  for (let i = 0; i < 256; i++) queue.add('127.0.0.1', wait);
  const from = async (address: string) => {
    const client = createSocket('udp4');
    onTestFinished(() => void client.close());
    client.bind(0, address);
    await once(client, 'listening');
    client.send(Buffer.from([0, 1, 2, 0x83]), port, '127.0.0.1');
    return client;
  };
  const [response] = await once(await from('127.0.0.2'), 'message');
  expect(response).toHaveLength(4);
  expect(totals).toMatchObject({ udp: 1, dropped: 0 });
  await from('127.0.0.1');
  await expect.poll(() => totals.dropped).toBe(1);
  expect(totals.loop.counts()).toMatchObject({ total: 2, failed: 1 });
  stop.abort();
  await done;
});

it('a server whose port is taken fails instead of waiting', async () => {
  const taken = createSocket('udp4');
  taken.bind(0, '127.0.0.1');
  await once(taken, 'listening');
  const clock = new ManualClock();
  const totals = createServerTotals(clock);
  const { port } = taken.address();
  const options = { responder, host: '127.0.0.1', port, totals, queue: new QuestionQueue(), clock };
  await expect(udpServer(options).run(new AbortController().signal)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  taken.close();
});
