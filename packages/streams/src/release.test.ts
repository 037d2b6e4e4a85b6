import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { release } from './release.ts';
import { acceptWebSocket } from './websocket/accept-websocket.ts';

describe('the memory of a chunk', () => {
  it.each([
    ['a whole one', (memory: ArrayBuffer) => Buffer.from(memory), 0],
    ['one behind the number of a channel', (memory: ArrayBuffer) => Buffer.from(memory, 1), 0],
    ['one with others behind it', (memory: ArrayBuffer) => Buffer.from(memory, 0, 90), 100],
    ['one with others before it', (memory: ArrayBuffer) => Buffer.from(memory, 2), 100],
  ])('is freed, unless it is shared: %s', (_, chunkOf, left) => {
    const memory = new ArrayBuffer(100);
    release(chunkOf(memory));
    expect(memory.byteLength).toBe(left);
  });
});

describe('the chunks of a WebSocket', () => {
  /** Messages of these sizes, as the server has them when all have come; pongs as the client has them. */
  async function exchange(sizes: readonly number[]) {
    const chunks: Buffer[] = [];
    const messages: Buffer[] = [];
    const { promise: all, resolve } = Promise.withResolvers<void>();
    const server = createServer().on('upgrade', (req, socket: Socket, head: Buffer) => {
      const accepted = acceptWebSocket(req, { socket, head }, '');
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      accepted.on('message', (data: Buffer) => {
        messages.push(data);
        if (messages.length === sizes.length) resolve();
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    onTestFinished(() => {
      client.terminate();
      server.close();
    });
    await once(client, 'open');
    const pongs: string[] = [];
    client.on('pong', (data) => pongs.push(data.toString()));
    for (const [at, size] of sizes.entries()) {
      client.ping(`ping ${at}`);
      client.send(Buffer.alloc(size, at + 1));
    }
    await all;
    await expect.poll(() => pongs.length).toBe(sizes.length);
    return { chunks, messages, pongs };
  }

  it('are freed when their message has been made, and messages and pongs are unchanged', async () => {
    const sizes = [200_000, 1, 0, 300_000, 70_000, 5, 5, 1_000_000, 65_536];
    const { chunks, messages, pongs } = await exchange(sizes);
    for (const [at, size] of sizes.entries()) expect(messages[at]?.equals(Buffer.alloc(size, at + 1))).toBe(true);
    expect(pongs).toEqual(sizes.map((_, at) => `ping ${at}`));
    const freed = chunks.filter(({ buffer }) => buffer.byteLength === 0);
    expect(freed.length).toBeGreaterThan(chunks.length / 2);
  });
});
