import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { create } from '@bufbuild/protobuf';
import { ManualClock } from '@gantry/base/testing';
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
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../logger.ts';
import { type GrpcCall, type GrpcHandler, grpcServer, type GrpcServerOptions } from './grpc-server.ts';

const methods = serviceDefinition(ObjectService);

type Handlers = Readonly<Record<string, GrpcHandler>>;

async function start(handlers: Handlers, options: Partial<GrpcServerOptions> = {}) {
  const listening = Promise.withResolvers<number>();
  const server = grpcServer({
    tls: 'insecure',
    address: '127.0.0.1:0',
    services: [{ descriptor: ObjectService, handlers }],
    logger: silentLogger,
    toGrpcError: (error) => ({
      code: status.ABORTED,
      message: String(error),
      trailers: { 'why-bin': Buffer.from([0, 1, 255]), plain: 'text' },
    }),
    onListening: listening.resolve,
    ...options,
  });
  const stop = new AbortController();
  const running = server.run(stop.signal);
  const port = await listening.promise;
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  return {
    server,
    port,
    client,
    [Symbol.asyncDispose]: async () => {
      client.close();
      stop.abort();
      await running;
      await server.close?.();
    },
  };
}

function get(client: Client, name: string, deadlineMs = 60_000) {
  const { path, requestSerialize, responseDeserialize } = methods['get'] ?? expect.unreachable();
  const answer = Promise.withResolvers<Buffer>();
  const options = { deadline: Date.now() + deadlineMs };
  const request = create(GetRequestSchema, { name });
  const call = client.makeUnaryRequest(
    path,
    requestSerialize,
    responseDeserialize,
    request,
    options,
    (error, reply) => {
      if (error === null) answer.resolve(Buffer.from((reply as unknown as { object: Uint8Array }).object));
      else answer.reject(error);
    },
  );
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

describe('a call with one answer', () => {
  it('brings the request to its handler and the answer back, small and large', async () => {
    await using server = await start(unary(async ({ name }) => reply(name)));
    const large = 'x'.repeat(3_000_000);
    expect((await get(server.client, 'small').answer).toString()).toBe('small');
    expect((await get(server.client, large).answer).toString()).toBe(large);
    expect(await get(server.client, '').answer).toHaveLength(0);
  });

  it('tells a failure with its message and trailers', async () => {
    await using server = await start(unary(() => Promise.reject(new Error('100 % größer'))));
    const error = await get(server.client, 'x').answer.catch((failure: unknown) => failure as ServiceError);
    expect(error).toMatchObject({ code: status.ABORTED, details: 'Error: 100 % größer' });
    const { metadata } = error as ServiceError;
    expect(metadata.get('why-bin')).toEqual([Buffer.from([0, 1, 255])]);
    expect(metadata.get('plain')).toEqual(['text']);
  });

  it('aborts its signal when the client goes, and not when the client has its answer', async () => {
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

  it('ends at its deadline', async () => {
    const seen = Promise.withResolvers<AbortSignal>();
    const clock = new ManualClock();
    const handlers = unary(async (_request, { signal }) => {
      seen.resolve(signal);
      await aborted(signal);
      return reply('too late');
    });
    await using server = await start(handlers, { clock });
    const { answer } = get(server.client, 'x', 9000);
    const late = expect(answer).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
    const signal = await seen.promise;
    await clock.advance(9000);
    expect(signal.aborted).toBe(true);
    await late;
  });

  it('is refused where nobody implements it', async () => {
    await using server = await start({});
    await expect(get(server.client, 'x').answer).rejects.toMatchObject({ code: status.UNIMPLEMENTED });
  });
});

describe('a request that is not one message', () => {
  const framed = (flag: number, length: number, bytes: number) => {
    const out = Buffer.alloc(5 + bytes);
    out[0] = flag;
    out.writeUInt32BE(length, 1);
    return out;
  };
  it.each([
    ['nothing', Buffer.alloc(0), status.UNIMPLEMENTED],
    ['a part of a head', Buffer.alloc(3), status.INTERNAL],
    ['less than was said', framed(0, 10, 4), status.INTERNAL],
    ['two messages', Buffer.concat([framed(0, 0, 0), framed(0, 0, 0)]), status.UNIMPLEMENTED],
    ['a compressed one', framed(1, 0, 0), status.UNIMPLEMENTED],
    ['one that cannot be read', Buffer.concat([framed(0, 1, 0), Buffer.from([0xff])]), status.INTERNAL],
    ['more than is taken', framed(0, 33 * 1024 * 1024, 33 * 1024 * 1024), status.RESOURCE_EXHAUSTED],
  ])('%s', async (_what, body, code) => {
    await using server = await start(unary(async () => reply('never')));
    const session = connectHttp2(`http://127.0.0.1:${server.port}`);
    const path = methods['get']?.path ?? '';
    const request = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
    request.on('error', () => undefined); // The server may refuse before it has read everything.
    request.end(body);
    const [headers] = (await once(request, 'response')) as [Record<string, string>];
    expect(headers['grpc-status']).toBe(String(code));
    session.destroy();
  });
});

describe('a stream', () => {
  it('ends with what it has sent, and with the error that came after it', async () => {
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
    // A round trip, after which a server that waits for nobody would have sent everything.
    await get(server.client, 'x').answer.catch(() => undefined);
    expect(made).toBeLessThan(300);
    let read = 1;
    while ((await messages.next()).done !== true) read++;
    expect(read).toBe(300);
  });

  it('is told when its client goes', async () => {
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

it('closes a connection that does not answer', async () => {
  const clock = new ManualClock();
  await using server = await start({}, { clock });
  const socket = connect(server.port, '127.0.0.1');
  const emptySettings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), emptySettings]));
  await once(socket, 'data');
  const closed = once(socket, 'close');
  socket.resume();
  await clock.advance(10_000);
  await clock.advance(5000);
  await closed;
});
