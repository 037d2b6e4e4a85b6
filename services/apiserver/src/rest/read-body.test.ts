import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readBody } from './read-body.ts';

const signal = new AbortController().signal;
const MIB = 1024 * 1024;
/** Shared by all, so that the test needs no memory of its own. */
const BIG = Buffer.alloc(2 * MIB);

function request(): { stream: PassThrough; body: Promise<Uint8Array> } {
  const stream = new PassThrough({ highWaterMark: 8 * MIB });
  return { stream, body: readBody(stream as unknown as IncomingMessage, signal) };
}

describe('a body', () => {
  it('comes as a whole', async () => {
    const { stream, body } = request();
    stream.write('ab');
    stream.end('cd');
    expect(Buffer.from(await body).toString()).toBe('abcd');
  });

  it('is too large above 3 MiB', async () => {
    const { stream, body } = request();
    stream.write(BIG);
    stream.write(BIG);
    await expect(body).rejects.toMatchObject({ code: 413, reason: 'RequestEntityTooLarge' });
  });

  it('is refused while others that have not ended take 256 MiB, and taken when they have', async () => {
    const others = Array.from({ length: 128 }, request);
    for (const { stream } of others) stream.write(BIG);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    const late = request();
    late.stream.write('a');
    await expect(late.body).rejects.toMatchObject({ code: 429, reason: 'TooManyRequests' });
    for (const { stream } of others) stream.end();
    await Promise.all(others.map(({ body }) => body));
    const next = request();
    next.stream.end(BIG);
    expect(await next.body).toHaveLength(2 * MIB);
  });
});
