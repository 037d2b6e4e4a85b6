import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { acceptWebSocket } from './accept-websocket.ts';
import { limitMessages, MessageMemory } from './message-memory.ts';

const KIB = 1024;
const FREE = 128 * KIB;

describe('what WebSockets hold', () => {
  let memory: MessageMemory;

  beforeEach(() => {
    memory = new MessageMemory({ maxBytes: 1000, maxBytesOfUser: 600 });
  });

  const holding = (user: string, bytes: number) => memory.of(user).count(() => bytes);

  it('is bounded for a user and for all, and little is always allowed', () => {
    expect(holding('a', FREE + 400).isAllowed()).toBe(true);
    expect(holding('a', FREE + 201).isAllowed()).toBe(false);
    expect(holding('b', FREE).isAllowed()).toBe(true);
    expect(holding('b', FREE + 400).isAllowed()).toBe(false);
  });

  it('is free again when a connection has ended, or has been read', () => {
    let bytes = FREE + 600;
    const reader = memory.of('a').count(() => bytes);
    const other = holding('a', FREE + 500);
    expect(other.isAllowed()).toBe(false);
    bytes = 0;
    expect(other.isAllowed()).toBe(true);
    bytes = FREE + 600;
    expect(other.isAllowed()).toBe(false);
    reader[Symbol.dispose]();
    expect(other.isAllowed()).toBe(true);
  });
});

describe('a WebSocket', () => {
  /** A server whose WebSockets report the size of each message; the user is the path. */
  async function serve(): Promise<{
    connect: (user: string) => Promise<WebSocket>;
    nextMessage: () => Promise<number>;
  }> {
    const memory = new MessageMemory({ maxBytes: 2000 * KIB, maxBytesOfUser: 600 * KIB });
    const sizes: number[] = [];
    let wake = (): void => undefined;
    const server = createServer();
    server.on('upgrade', (req, socket, head) => {
      const accepted = acceptWebSocket(req, { socket, head }, '');
      limitMessages(accepted, socket, memory.of(req.url ?? ''), () => 0);
      accepted.on('error', () => undefined);
      accepted.on('message', (data: Buffer) => {
        sizes.push(data.length);
        wake();
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return {
      connect: async (user) => {
        const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/${user}`);
        socket.on('error', () => undefined);
        onTestFinished(() => socket.terminate());
        await once(socket, 'open');
        return socket;
      },
      nextMessage: async () => {
        while (sizes.length === 0) await new Promise<void>((resolve) => (wake = resolve));
        return sizes.shift() ?? 0;
      },
    };
  }

  it('is cut off when its user holds too much in messages that are not complete', async () => {
    const { connect, nextMessage } = await serve();
    const [first, second, other] = [await connect('a'), await connect('a'), await connect('b')];
    const cut = Promise.race([first, second].map((socket) => once(socket, 'close').then(() => socket)));
    for (const socket of [first, second, other]) socket.send(Buffer.alloc(500 * KIB), { fin: false });
    const left = (await cut) === first ? second : first;
    left.send('end', { fin: true });
    expect(await nextMessage()).toBe(500 * KIB + 3);
    other.send('end', { fin: true });
    expect(await nextMessage()).toBe(500 * KIB + 3);
    left.send(Buffer.alloc(500 * KIB));
    expect(await nextMessage()).toBe(500 * KIB);
  });
});
