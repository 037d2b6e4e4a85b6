import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { readRedisList } from './redis.ts';
import type { QueueScaler } from './queue-scaler.ts';

/** What is read from a server that replies with `chunks`, and what it received. */
async function read(chunks: readonly string[]): Promise<{ length: number | string; received: string }> {
  let received = '';
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (data) => {
      received = String(data);
      for (const chunk of chunks) socket.write(chunk);
      socket.end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const spec = { address, listName: 'jobs é' } as QueueScaler['spec'];
  const length = await readRedisList(spec, new AbortController().signal);
  server.close();
  return { length: typeof length === 'string' ? length.replace(address, 'redis') : length, received };
}

it('asks for the length of the list', async () => {
  expect(await read([':12\r\n'])).toEqual({ length: 12, received: '*2\r\n$4\r\nLLEN\r\n$7\r\njobs é\r\n' });
});

it.each([
  ['a number in two parts', [':1', '2\r\n'], 12],
  ['an error', ['-WRONGTYPE not a list\r\n'], 'redis: -WRONGTYPE not a list'],
  ['no reply', [], 'redis: closed the connection'],
  ['half a reply', [':1'], 'redis: :1'],
  ['another protocol', [`${'x'.repeat(2000)}\r\n`], `redis: ${'x'.repeat(100)}`],
])('reads %s', async (_, chunks, length) => expect((await read(chunks)).length).toBe(length));

it('says why it cannot connect', async () => {
  const spec = { address: '127.0.0.1:1', listName: 'jobs' } as QueueScaler['spec'];
  expect(await readRedisList(spec, new AbortController().signal)).toContain('127.0.0.1:1: connect ECONNREFUSED');
});
