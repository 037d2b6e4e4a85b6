import { createServer, get, IncomingMessage, ServerResponse } from 'node:http';
import http2 from 'node:http2';
import { type AddressInfo, type Server, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { systemClock } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Exchange } from './exchange.ts';
import { joinPieces, sendPieces, waitForDrain } from './send-pieces.ts';

describe('a wait for the client to read', () => {
  function waiting(limitMs?: number) {
    const clock = new ManualClock();
    const stop = new AbortController();
    const res = new ServerResponse(new IncomingMessage(new Socket()));
    const state = { ended: false };
    const wait = waitForDrain({ res, signal: stop.signal } as Exchange, clock, limitMs);
    void wait.then(() => (state.ended = true));
    return { clock, stop, res, state, wait };
  }

  it.each<[string, (one: ReturnType<typeof waiting>) => unknown]>([
    ['has read', ({ res }) => res.emit('drain')],
    ['has gone', ({ res }) => res.emit('close')],
    ['is no longer served', ({ stop }) => stop.abort()],
  ])('ends when it %s, and leaves nothing behind', async (_what, end) => {
    const one = waiting();
    const listeners = one.res.listenerCount('close');
    end(one);
    await one.wait;
    expect(one.res.destroyed).toBe(false);
    expect(one.clock.nextTimerMs()).toBeUndefined();
    expect([one.res.listenerCount('drain'), one.res.listenerCount('close')]).toEqual([0, listeners - 1]);
  });

  it('disconnects a client that reads nothing for 30 s', async () => {
    const one = waiting();
    await one.clock.advance(29_999);
    expect([one.state.ended, one.res.destroyed]).toEqual([false, false]);
    await one.clock.advance(1);
    await one.wait;
    expect(one.res.destroyed).toBe(true);
  });

  it('of a log has no limit', async () => {
    const { clock, state, res } = waiting(Infinity);
    await clock.advance(24 * 60 * 60 * 1000);
    expect([state.ended, res.destroyed]).toEqual([false, false]);
  });
});

describe('a body in pieces', () => {
  const PIECES = 15_000;
  /** The pieces of one body. Each is different in each body. */
  const piecesOf = (body: string) =>
    Array.from({ length: PIECES }, (_none, index) => Buffer.from(`${body}:${index};`.repeat(100)));

  function handle(req: IncomingMessage, res: ServerResponse): void {
    const exchange: Exchange = {
      req,
      res,
      method: 'GET',
      path: '',
      query: new URLSearchParams(),
      signal: new AbortController().signal,
      warnings: new Set(),
      onBody: () => undefined,
      keptBytes: () => 0,
    };
    void sendPieces(exchange, 'text/plain', piecesOf(req.url ?? ''), systemClock);
  }

  async function listen(server: Server): Promise<string> {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** Reads bodies at the same time; each begins to be read when all have arrived in part. */
  async function readTogether(bodies: readonly string[], open: (body: string) => Promise<NodeJS.ReadableStream>) {
    const streams = await Promise.all(bodies.map(open));
    return await Promise.all(streams.map(buffer));
  }

  const BODIES = ['/a', '/b', '/c'];
  const EXPECTED = BODIES.map((body) => Buffer.concat(piecesOf(body)));

  it.each(['identity', 'gzip'])('is what was given, also while others are sent (HTTP/1.1, %s)', async (coding) => {
    const address = await listen(createServer(handle));
    const open = (body: string) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        get(`${address}${body}`, { headers: { 'accept-encoding': coding } }, resolve).on('error', reject);
      });
    const found = await readTogether(BODIES, open);
    const plain = coding === 'gzip' ? found.map((body) => gunzipSync(body)) : found;
    expect(plain.map((body, index) => body.equals(EXPECTED[index] ?? body.subarray(1)))).toEqual(
      BODIES.map(() => true),
    );
  });

  it('is what was given, also while others are sent on the same connection (HTTP/2)', async () => {
    const session = http2.connect(await listen(http2.createServer(handle as never)));
    onTestFinished(() => session.destroy());
    const open = (body: string) => {
      const stream = session.request({ ':path': body });
      return new Promise<NodeJS.ReadableStream>((resolve) => stream.on('response', () => resolve(stream)));
    };
    const found = await readTogether(BODIES, open);
    expect(found.map((body, index) => body.equals(EXPECTED[index] ?? body.subarray(1)))).toEqual(
      BODIES.map(() => true),
    );
  });

  it('uses released memory again, and keeps other memory', () => {
    const slabs = joinPieces(piecesOf('/a'));
    const next = () => {
      const { value } = slabs.next();
      if (value === undefined) throw new Error('the pieces are too few');
      return value;
    };
    const [first, second] = [next(), next()];
    expect(second.bytes.buffer).not.toBe(first.bytes.buffer);
    first.release();
    expect(next().bytes.buffer).toBe(first.bytes.buffer);
    expect(Buffer.from(second.bytes).toString()).toContain('/a:');
  });
});
