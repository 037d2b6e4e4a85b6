import { once } from 'node:events';
import { create } from '@bufbuild/protobuf';
import {
  AgentService,
  type GetRequest,
  GetRequestSchema,
  ObjectReplySchema,
  ObjectService,
  serviceDefinition,
  type StreamInput,
  StreamInputSchema,
  StreamOutputSchema,
  WatchBatchSchema,
  WatchRequestSchema,
} from '@gantry/proto';
import { Client, type ClientReadableStream, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { Activities, systemClock } from '@gantry/base';
import { Starts } from '../starts.ts';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../logger.ts';
import { grpcServer } from './grpc-server.ts';
import type { GrpcCall, GrpcHandler, GrpcService } from './grpc-service.ts';

const methods = serviceDefinition(ObjectService);
const agentMethods = serviceDefinition(AgentService);

type Handlers = Readonly<Record<string, GrpcHandler>>;

async function start(handlers: Handlers, descriptor: GrpcService['descriptor'] = ObjectService, starts?: Starts) {
  const listening = Promise.withResolvers<number>();
  const server = grpcServer({
    tls: 'insecure',
    address: '127.0.0.1:0',
    services: [{ descriptor, handlers }],
    clock: systemClock,
    activities: new Activities(systemClock),
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

function exchange(client: Client) {
  const { path, requestSerialize, responseDeserialize } = agentMethods['exec'] ?? expect.unreachable();
  return client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
}

function startDuplex(handle: (requests: AsyncIterable<StreamInput>, call: GrpcCall) => AsyncIterable<object>) {
  return start({ exec: { kind: 'duplex', handle } }, AgentService);
}

const input = (text: string) => create(StreamInputSchema, { part: { case: 'stdin', value: Buffer.from(text) } });
const output = (text: string) => create(StreamOutputSchema, { part: { case: 'stdout', value: Buffer.from(text) } });
const textOf = (message: unknown) => Buffer.from((message as { part: { value: Uint8Array } }).part.value).toString();
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
    await using server = await start(handlers, ObjectService, starts);
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
    // A round trip, after which a server without back-pressure would have sent everything.
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

describe('a stream in both directions', () => {
  it('answers while requests come, and after the last one', async () => {
    await using server = await startDuplex(async function* (requests) {
      for await (const message of requests) yield output(textOf(message));
      yield output('end');
    });
    const call = exchange(server.client);
    const messages = call[Symbol.asyncIterator]();
    const next = async () => textOf((await messages.next()).value);
    call.write(input('a'));
    expect(await next()).toBe('a');
    call.write(input('b'));
    expect(await next()).toBe('b');
    call.end();
    expect(await next()).toBe('end');
    expect((await messages.next()).done).toBe(true);
  });

  it('reads requests no faster than its handler does', async () => {
    const go = Promise.withResolvers<unknown>();
    await using server = await startDuplex(async function* (requests) {
      yield output('begun');
      await go.promise;
      let count = 0;
      for await (const message of requests) count += textOf(message).length;
      yield output(String(count));
    });
    const call = exchange(server.client);
    const messages = call[Symbol.asyncIterator]();
    let written = 0;
    const writing = (async () => {
      for (; written < 300; written++) if (!call.write(input('x'.repeat(100_000)))) await once(call, 'drain');
      call.end();
    })();
    expect(textOf((await messages.next()).value)).toBe('begun');
    // A round trip, within which a server without back-pressure would have read everything.
    await expect(get(server.client, 'x').answer).rejects.toMatchObject({ code: status.UNIMPLEMENTED });
    expect(written).toBeLessThan(300);
    go.resolve(undefined);
    expect(textOf((await messages.next()).value)).toBe(String(300 * 100_000));
    await writing;
  });

  it('makes no part for a client that does not read, beyond what the connection takes', async () => {
    // The connection takes two of them.
    const part = 'x'.repeat(4 * 1024 * 1024);
    let made = 0;
    await using server = await startDuplex(async function* () {
      for (;;) {
        made++;
        yield output(part);
      }
    });
    const call = exchange(server.client);
    call.on('error', () => undefined);
    await expect.poll(() => made).toBeGreaterThan(0);
    for (let turn = 0; turn < 300; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(made).toBeLessThan(5);
    call.cancel();
  });

  it('delivers its responses and error although requests are left unread', async () => {
    await using server = await startDuplex(async function* (requests) {
      for await (const message of requests) {
        yield output(textOf(message));
        break;
      }
      yield output('more');
      throw new Error('broken');
    });
    const call = exchange(server.client);
    call.write(input('a'));
    call.write(create(StreamInputSchema, { part: { case: 'stdinClosed', value: {} } }));
    const seen: string[] = [];
    const read = async () => {
      for await (const message of call) seen.push(textOf(message));
    };
    await expect(read()).rejects.toMatchObject({ code: status.ABORTED, details: 'Error: broken' });
    expect(seen).toEqual(['a', 'more']);
  });

  it('gives the bytes of requests as they come, a message of any size in parts', async () => {
    const bytes = 3 * 1024 * 1024;
    await using server = await startDuplex(async function* (requests) {
      let [count, most] = [0, 0];
      for await (const message of requests) {
        const { length } = textOf(message);
        count += length;
        most = Math.max(most, length);
      }
      yield output(`${count} ${most < bytes / 2}`);
    });
    const call = exchange(server.client);
    call.end(input('x'.repeat(bytes)));
    expect(textOf((await call[Symbol.asyncIterator]().next()).value)).toBe(`${bytes} true`);
  });

  it('refuses a message that is too long, and one that is no message', async () => {
    await using server = await startDuplex(async function* (requests) {
      for await (const _ of requests);
      yield output('never');
    });
    const { path, responseDeserialize } = agentMethods['exec'] ?? expect.unreachable();
    for (const bytes of [Buffer.alloc(5 * 1024 * 1024, 0xff), Buffer.from([0x12, 9, 1])]) {
      const call = server.client.makeBidiStreamRequest(path, () => bytes, responseDeserialize);
      const refused = once(call, 'error');
      call.write({});
      call.resume();
      expect(await refused).toEqual([expect.objectContaining({ code: status.INVALID_ARGUMENT })]);
    }
  });

  it('drops what still comes when it has answered', async () => {
    await using server = await startDuplex(async function* (requests) {
      for await (const _ of requests) break;
      yield output('enough');
    });
    const call = exchange(server.client);
    call.on('error', () => undefined);
    call.write(input('x'));
    const rest = async () => {
      for (let sent = 0; sent < 100; sent++) if (!call.write(input('x'.repeat(100_000)))) await once(call, 'drain');
    };
    const ended = once(call, 'end');
    const sending = Promise.race([rest(), once(call, 'status')]);
    call.resume();
    await Promise.all([ended, sending]);
  });

  it('is aborted when its client disconnects, and its requests end', async () => {
    const left = Promise.withResolvers<unknown>();
    const ended = Promise.withResolvers<unknown>();
    await using server = await startDuplex(async function* (requests, { signal }) {
      yield output('1');
      const reading = (async () => {
        for await (const _ of requests);
      })();
      reading.then(ended.resolve, ended.resolve);
      left.resolve(await aborted(signal));
    });
    const call = exchange(server.client);
    call.on('error', () => undefined);
    await once(call, 'data');
    call.cancel();
    expect(String(await left.promise)).toContain('the client has gone');
    await ended.promise;
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
