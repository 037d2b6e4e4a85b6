import { once } from 'node:events';
import { create } from '@bufbuild/protobuf';
import {
  type GetRequest,
  GetRequestSchema,
  ObjectReplySchema,
  ObjectService,
  serviceDefinition,
  WatchBatchSchema,
  WatchRequestSchema,
} from '@gantry/proto';
import { Client, type ClientReadableStream, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { connect } from 'node:net';
import { Activities, type Clock, systemClock } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { Starts } from '../starts.ts';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../logger.ts';
import { grpcServer } from './grpc-server.ts';
import type { GrpcCall, GrpcHandler, GrpcService } from './grpc-service.ts';

const methods = serviceDefinition(ObjectService);

type Handlers = Readonly<Record<string, GrpcHandler>>;

interface Started {
  readonly descriptor?: GrpcService['descriptor'];
  readonly starts?: Starts;
  readonly clock?: Clock;
}

async function start(handlers: Handlers, { descriptor = ObjectService, starts, clock = systemClock }: Started = {}) {
  const listening = Promise.withResolvers<number>();
  const server = grpcServer({
    tls: 'insecure',
    address: '127.0.0.1:0',
    services: [{ descriptor, handlers }],
    clock,
    activities: new Activities(clock),
    logger: silentLogger,
    ...(starts && { starts }),
    toGrpcError: (error) => ({
      code: status.ABORTED,
      message: String(error),
      trailers: { 'why-bin': Buffer.from([0, 1, 255]), plain: 'text' },
    }),
    onListening: listening.resolve,
  });
  const stop = new AbortController();
  const running = server.run(stop.signal);
  const port = await listening.promise;
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  return {
    server,
    client,
    port,
    [Symbol.asyncDispose]: async () => {
      client.close();
      stop.abort();
      await running;
      await server.close?.();
    },
  };
}

function get(client: Client, name: string) {
  const { path, requestSerialize, responseDeserialize } = methods['get'] ?? expect.unreachable();
  const answer = Promise.withResolvers<Buffer>();
  const request = create(GetRequestSchema, { name });
  const call = client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error, reply) => {
    if (error === null) answer.resolve(Buffer.from((reply as unknown as { object: Uint8Array }).object));
    else answer.reject(error);
  });
  return { call, answer: answer.promise };
}

function watch(client: Client): ClientReadableStream<unknown> {
  const { path, requestSerialize, responseDeserialize } = methods['watch'] ?? expect.unreachable();
  const request = create(WatchRequestSchema, {});
  return client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request);
}

function unary(handle: (request: GetRequest, call: GrpcCall) => Promise<object>): Handlers {
  return { get: { kind: 'unary', handle } };
}

function stream(handle: (call: GrpcCall) => AsyncIterable<object>): Handlers {
  return { watch: { kind: 'stream', handle: (_request: never, call: GrpcCall) => handle(call) } };
}

const reply = (text: string | Buffer) => create(ObjectReplySchema, { object: Buffer.from(text) });
const batch = (resourceVersion: string) => create(WatchBatchSchema, { resourceVersion });
const versionOf = (message: unknown) => (message as { resourceVersion: string }).resourceVersion;

function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), { once: true }));
}

describe('a server whose rounds have no time left', () => {
  it('refuses calls of an address of which too many wait, and makes the others when there is time', async () => {
    let [now, look] = [0, 0];
    const starts = new Starts({ monotonicMs: () => (now += look) }, { ofSource: 2, total: 100, sources: 100 });
    const arrived = Promise.withResolvers<unknown>();
    const handlers = { ...unary(async ({ name }) => reply(name)), ...stream(async function* () {}) };
    await using server = await start(handlers, { starts });
    await get(server.client, 'first').answer;
    look = 20;
    const waiting = ['a', 'b'].map((name) => get(server.client, name).answer);
    const refused = await get(server.client, 'c').answer.catch((failure: unknown) => failure as ServiceError);
    expect(refused).toMatchObject({ code: status.RESOURCE_EXHAUSTED, details: expect.stringContaining('Too many') });
    watch(server.client).on('error', arrived.resolve).resume();
    expect(await arrived.promise).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    look = 0;
    expect((await Promise.all(waiting)).map(String)).toEqual(['a', 'b']);
  });
});

it('a client that sends nothing, though it gets pings, is closed', async () => {
  const clock = new ManualClock();
  await using server = await start({}, { clock });
  const silent = connect(server.port, '127.0.0.1');
  silent.on('error', () => silent.destroy());
  // HTTP/2's preface and empty settings.
  silent.write(
    Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])]),
  );
  const closed = once(silent, 'close');
  await once(silent, 'readable');
  silent.resume();
  for (let waited = 0; waited < 13_000; waited += 1000) await clock.advance(1000);
  expect(silent.destroyed).toBe(false);
  for (let waited = 0; waited < 4000; waited += 1000) await clock.advance(1000);
  await closed;
});

describe('a unary call', () => {
  it('passes requests and responses of any size', async () => {
    await using server = await start(unary(async ({ name }) => reply(name)));
    const large = 'x'.repeat(3_000_000);
    expect((await get(server.client, 'small').answer).toString()).toBe('small');
    expect((await get(server.client, large).answer).toString()).toBe(large);
    expect(await get(server.client, '').answer).toHaveLength(0);
  });

  it('fails with the message and trailers of its error', async () => {
    await using server = await start(unary(() => Promise.reject(new Error('100 % größer'))));
    const error = await get(server.client, 'x').answer.catch((failure: unknown) => failure as ServiceError);
    expect(error).toMatchObject({ code: status.ABORTED, details: 'Error: 100 % größer' });
    const { metadata } = error as ServiceError;
    expect(metadata.get('why-bin')).toEqual([Buffer.from([0, 1, 255])]);
    expect(metadata.get('plain')).toEqual(['text']);
  });

  it('aborts its signal when the client disconnects, and not after the response', async () => {
    const calls: GrpcCall[] = [];
    const seen = Promise.withResolvers<unknown>();
    const handlers = unary(async ({ name }, call) => {
      calls.push(call);
      if (name === 'answered') return reply(name);
      seen.resolve(undefined);
      throw await aborted(call.signal);
    });
    await using server = await start(handlers);
    await get(server.client, 'answered').answer;
    const { call, answer } = get(server.client, 'left');
    await seen.promise;
    call.cancel();
    await expect(answer).rejects.toMatchObject({ code: status.CANCELLED });
    const [first, second] = calls;
    if (second?.signal.aborted === false) await aborted(second.signal);
    expect(String(second?.signal.reason)).toContain('the client has gone');
    expect(first?.signal.aborted).toBe(false);
  });

  it('fails for a method without a handler', async () => {
    await using server = await start({});
    await expect(get(server.client, 'x').answer).rejects.toMatchObject({ code: status.UNIMPLEMENTED });
  });
});

describe('a stream', () => {
  it('delivers its elements before its end or error', async () => {
    let fails = false;
    const handlers = stream(async function* () {
      yield batch('1');
      yield batch('2');
      if (fails) throw new Error('broken');
    });
    await using server = await start(handlers);
    const read = async () => {
      const seen: string[] = [];
      for await (const message of watch(server.client)) seen.push(versionOf(message));
      return seen;
    };
    expect(await read()).toEqual(['1', '2']);
    fails = true;
    await expect(read()).rejects.toMatchObject({ code: status.ABORTED, details: 'Error: broken' });
  });

  it('waits for a client that reads slowly', async () => {
    let made = 0;
    const filling = 'x'.repeat(100_000);
    const handlers = stream(async function* () {
      for (; made < 300; made++) yield batch(filling);
    });
    await using server = await start(handlers);
    const call = watch(server.client);
    const messages = call[Symbol.asyncIterator]();
    await messages.next();
    // After a round trip, a server without back-pressure would have sent everything.
    await expect(get(server.client, 'x').answer).rejects.toMatchObject({ code: status.UNIMPLEMENTED });
    expect(made).toBeLessThan(300);
    let read = 1;
    while ((await messages.next()).done !== true) read++;
    expect(read).toBe(300);
  });

  it('is aborted when its client disconnects', async () => {
    const left = Promise.withResolvers<unknown>();
    const handlers = stream(async function* ({ signal }) {
      yield batch('1');
      left.resolve(await aborted(signal));
    });
    await using server = await start(handlers);
    const call = watch(server.client);
    call.on('error', () => undefined);
    await once(call, 'data');
    call.cancel();
    expect(String(await left.promise)).toContain('the client has gone');
  });
});

describe('a server that stops', () => {
  it('lets calls finish and ends streams', async () => {
    const seen = Promise.withResolvers<unknown>();
    const go = Promise.withResolvers<unknown>();
    const handlers: Handlers = {
      ...unary(async () => {
        seen.resolve(undefined);
        await go.promise;
        return reply('finished');
      }),
      ...stream(async function* ({ signal }) {
        yield batch('1');
        throw await aborted(signal);
      }),
    };
    await using server = await start(handlers);
    const call = watch(server.client);
    await once(call, 'data');
    const { answer } = get(server.client, 'x');
    await seen.promise;
    const ended = once(call, 'error');
    const drained = server.server.drain?.(new AbortController().signal);
    expect(await ended).toEqual([expect.objectContaining({ code: status.UNAVAILABLE })]);
    go.resolve(undefined);
    expect((await answer).toString()).toBe('finished');
    await drained;
  });
});

describe('a server that releases its connections', () => {
  it('ends streams, lets calls finish, and gets later calls over new connections', async () => {
    const seen = Promise.withResolvers<unknown>();
    const go = Promise.withResolvers<unknown>();
    const handlers: Handlers = {
      ...unary(async ({ name }) => {
        if (name !== 'running') return reply(name);
        seen.resolve(undefined);
        await go.promise;
        return reply('finished');
      }),
      ...stream(async function* ({ signal }) {
        yield batch('1');
        throw await aborted(signal);
      }),
    };
    await using server = await start(handlers);
    const call = watch(server.client);
    await once(call, 'data');
    const channel = server.client.getChannel();
    const { answer } = get(server.client, 'running');
    await seen.promise;
    const ended = once(call, 'error');
    const left = new Promise((resolve) => {
      channel.watchConnectivityState(channel.getConnectivityState(false), Infinity, resolve);
    });
    server.server.releaseConnections();
    expect(await ended).toEqual([
      expect.objectContaining({ code: status.UNAVAILABLE, details: 'the server cannot answer now' }),
    ]);
    await left;
    expect((await get(server.client, 'next').answer).toString()).toBe('next');
    go.resolve(undefined);
    expect((await answer).toString()).toBe('finished');
  });
});
