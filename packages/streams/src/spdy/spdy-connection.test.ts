import { duplexPair } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { ManualClock } from '@gantry/base/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SpdyClient } from '../testing/spdy-client.ts';
import { CONTROL, controlFrame, numbers, UNIDIRECTIONAL } from './frames.ts';
import { SpdyConnection, type SpdyLimits } from './spdy-connection.ts';
import { RESET } from './spdy-error.ts';
import type { SpdyStream } from './spdy-stream.ts';

interface Pair {
  readonly client: SpdyClient;
  readonly server: SpdyConnection;
  readonly served: Promise<void>;
  readonly streams: SpdyStream[];
  readonly clock: ManualClock;
}

function connected(onStream: (stream: SpdyStream) => void = () => undefined, limits?: SpdyLimits): Pair {
  const [near, far] = duplexPair();
  const clock = new ManualClock();
  const streams: SpdyStream[] = [];
  const server = new SpdyConnection({
    transport: far,
    clock,
    accepts: (headers) => headers.get('refused') === undefined,
    onStream: (stream) => {
      streams.push(stream);
      onStream(stream);
    },
    ...(limits === undefined ? {} : { limits }),
  });
  return { client: new SpdyClient(near), server, served: server.serve(), streams, clock };
}

const echo = (stream: SpdyStream): void => void stream.pipe(stream);

describe('a connection of SPDY', () => {
  it('answers streams, carries data both ways and ends both directions', async () => {
    const { client, server, served } = connected(echo);
    const one = await client.open({ name: 'one' });
    const two = await client.open({ name: 'two' });
    client.send(one, 'first ');
    client.send(two, 'other', 'fin');
    client.send(one, 'last', 'fin');
    await client.until(() => client.stream(one).state === 'ended' && client.stream(two).state === 'ended');
    expect([client.text(one), client.text(two)]).toEqual(['first last', 'other']);
    server.close();
    await client.ended();
    expect(client.control.map(({ type }) => type)).toEqual([CONTROL.goAway]);
    client.transport.end();
    await served;
  });

  it('gives streams the headers that the client sent', async () => {
    const { client, streams } = connected();
    await client.open({ streamType: 'data', port: '80' });
    await client.until(() => streams.length === 1);
    expect(streams[0]?.headers).toEqual(
      new Map([
        ['streamtype', 'data'],
        ['port', '80'],
      ]),
    );
  });

  it.each([
    ['an even number', 2, {}, 0, RESET.protocolError],
    ['a one-way stream', 1, {}, UNIDIRECTIONAL, RESET.protocolError],
    ['headers that are not wanted', 1, { refused: 'yes' }, 0, RESET.refusedStream],
  ])('resets a stream with %s, and goes on', async (_, id, headers, flags, reset) => {
    const { client } = connected(echo);
    await client.openAs(id, new Map(Object.entries(headers)), flags);
    await client.until(() => typeof client.stream(id).state === 'object');
    expect(client.stream(id).state).toEqual({ reset });
    await client.openAs(7, new Map());
    await client.until(() => client.stream(7).state === 'open');
  });

  it('resets a stream whose number has been used', async () => {
    const { client } = connected();
    await client.openAs(5, new Map());
    await client.openAs(3, new Map());
    await client.until(() => typeof client.stream(3).state === 'object');
    expect(client.stream(3).state).toEqual({ reset: RESET.protocolError });
  });

  it('holds so many streams, and more when one has ended', async () => {
    const { client, streams } = connected(() => undefined, {
      maxStreams: 2,
      maxControlBytes: 1000,
      maxHeaderBytes: 1000,
    });
    const [first] = [await client.open({}), await client.open({})];
    const third = await client.open({});
    await client.until(() => typeof client.stream(third).state === 'object');
    expect(client.stream(third).state).toEqual({ reset: RESET.refusedStream });
    client.reset(first);
    const fourth = await client.open({});
    await client.until(() => client.stream(fourth).state === 'open');
    expect(streams).toHaveLength(3);
  });

  it('answers pings of the client, and sends its own as time passes', async () => {
    const { client, clock } = connected();
    client.transport.write(controlFrame(CONTROL.ping, 0, numbers(9)));
    client.transport.write(controlFrame(CONTROL.ping, 0, numbers(2)));
    await client.until(() => client.control.length === 1);
    expect(client.control[0]).toEqual({ type: CONTROL.ping, payload: numbers(9) });
    await clock.advance(30_000);
    await client.until(() => client.control.length === 2);
    expect(client.control[1]?.payload).toEqual(numbers(2));
  });

  it('ignores settings, windows, unknown frames and data of streams that are gone', async () => {
    const { client } = connected(echo);
    for (const type of [CONTROL.settings, CONTROL.windowUpdate, CONTROL.goAway, 99]) {
      client.transport.write(controlFrame(type, 0, numbers(1, 2)));
    }
    client.send(41, 'nothing');
    const id = await client.open({});
    client.send(id, 'x', 'fin');
    await client.until(() => client.stream(id).state === 'ended');
    expect(client.text(id)).toBe('x');
  });

  it('stops reading the connection while a stream is not read, and takes all of it in the end', async () => {
    const { client, streams } = connected();
    const id = await client.open({});
    await client.until(() => streams.length === 1);
    const [stream] = streams;
    const chunk = Buffer.alloc(32 * 1024);
    let sent = 0;
    while (client.transport.writableLength < 4 * chunk.length && sent < 100) {
      client.send(id, chunk);
      sent++;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(sent).toBeLessThan(30);
    expect(stream?.readableLength).toBeLessThanOrEqual(64 * 1024 + chunk.length);
    client.send(id, '', 'fin');
    expect((await buffer(stream as SpdyStream)).length).toBe(sent * chunk.length);
  });

  it('stops its writers while the client does not read', async () => {
    const [near, far] = duplexPair();
    const streams: SpdyStream[] = [];
    const server = new SpdyConnection({
      transport: far,
      clock: new ManualClock(),
      accepts: () => true,
      onStream: (stream) => streams.push(stream),
    });
    void server.serve();
    const client = new SpdyClient(near);
    await client.open({});
    await client.until(() => streams.length === 1);
    near.pause();
    const [stream] = streams as [SpdyStream];
    let written = 0;
    while (stream.write(Buffer.alloc(16 * 1024)) && written < 100) written++;
    expect(written).toBeLessThan(20);
    near.resume();
    await new Promise((resolve) => stream.once('drain', resolve));
  });

  it.each([
    [
      'a block of headers that is none',
      controlFrame(CONTROL.synStream, 0, Buffer.concat([numbers(1, 0), Buffer.from('\0\0nonsense')])),
    ],
    ['a stream without headers', controlFrame(CONTROL.synStream, 0, numbers(1, 0))],
    ['a reply to no stream', controlFrame(CONTROL.synReply, 0, numbers(1))],
    ['a control frame that is too large', controlFrame(CONTROL.settings, 0, Buffer.alloc(17 * 1024))],
  ])('ends a connection with %s, and its streams', async (_, frame) => {
    const { client, served, streams } = connected();
    await client.open({});
    await client.until(() => streams.length === 1);
    client.transport.write(frame);
    await served;
    await client.ended();
    expect(client.control.at(-1)?.type).toBe(CONTROL.goAway);
    expect(streams[0]?.destroyed).toBe(true);
  });

  it('survives any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 8 }),
        fc.boolean(),
        async (chunks, isControl) => {
          const { client, served } = connected(echo);
          await client.open({});
          for (const chunk of chunks) {
            const bytes = Buffer.from(chunk);
            client.transport.write(isControl ? controlFrame(bytes[0] ?? 1, bytes[1] ?? 0, bytes) : bytes);
          }
          client.transport.end();
          await served;
        },
      ),
    );
  });

  it('ends the streams, without an error, when the client resets them or goes', async () => {
    const { client, served, streams } = connected();
    const one = await client.open({});
    await client.open({});
    await client.until(() => streams.length === 2);
    const [first, second] = streams as [SpdyStream, SpdyStream];
    const closed = new Promise((resolve) => first.once('close', resolve));
    client.reset(one);
    await closed;
    expect(first.errored).toBeNull();
    client.transport.end();
    await served;
    expect(second.destroyed).toBe(true);
    await expect(text(second)).rejects.toThrow(/[Pp]remature/);
  });

  it('waits for the client to read everything, but not for ever', async () => {
    const { client, server, served, streams, clock } = connected();
    const id = await client.open({});
    await client.until(() => streams.length === 1);
    streams[0]?.end('the last words');
    await client.until(() => client.stream(id).state === 'ended');
    server.close();
    expect(client.text(id)).toBe('the last words');
    // The client never ends its side.
    await clock.advance(5000);
    await served;
  });
});
