import { once } from 'node:events';
import { type ClientHttp2Session, connect, createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { create } from '@bufbuild/protobuf';
import {
  AgentService,
  createFramer,
  type StreamInput,
  StreamInputSchema,
  type StreamOutput,
  StreamOutputSchema,
} from '@gantry/proto';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { AgentCall, AgentCallError } from './agent-call.ts';

const GRPC = { ':status': 200, 'content-type': 'application/grpc' };
/** What an API server and the kernel hold for a reader, at most. */
const AHEAD_BYTES = 8 * 1024 * 1024;

type Answer = (stream: ServerHttp2Stream) => void;

/** An agent that answers each call like this. */
async function agent(answer: Answer): Promise<{ readonly session: ClientHttp2Session } & Disposable> {
  const server = createServer();
  server.on('stream', (stream) => {
    stream.on('error', () => undefined);
    answer(stream);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  session.on('error', () => undefined);
  return {
    session,
    [Symbol.dispose]: () => {
      session.destroy();
      server.close();
    },
  };
}

function begin(session: ClientHttp2Session, signal = new AbortController().signal) {
  const stream = session.request({ ':method': 'POST', ':path': '/x' }, { endStream: false });
  return new AgentCall<StreamInput, StreamOutput>(stream, AgentService.method.exec, signal);
}

const frame = (name: 'stdout' | 'stderr', bytes: Uint8Array): Buffer =>
  Buffer.concat(createFramer(StreamOutputSchema)(create(StreamOutputSchema, { part: { case: name, value: bytes } })));
const stdin = (text: string): StreamInput =>
  create(StreamInputSchema, { part: { case: 'stdin', value: Buffer.from(text) } });
const textOf = (message: StreamOutput | undefined): string => Buffer.from(message?.part.value as Uint8Array).toString();

/** Answers with messages, and with trailers after them. */
function answering(messages: readonly Buffer[], trailers: Readonly<Record<string, string>>): Answer {
  return (stream) => {
    stream.respond(GRPC, { waitForTrailers: true });
    stream.once('wantTrailers', () => stream.sendTrailers(trailers));
    for (const message of messages) stream.write(message);
    stream.end();
  };
}

const OK = { 'grpc-status': '0' };

/** Reads to the end. */
async function read(call: AgentCall<StreamInput, StreamOutput>): Promise<string> {
  let text = '';
  for (let next = await call.next(); next !== undefined; next = await call.next()) text += textOf(next);
  return text;
}

it('hands over all messages in their order, and then the end', async () => {
  const messages = Array.from({ length: 1000 }, (_, at) =>
    frame(at % 3 === 0 ? 'stderr' : 'stdout', Buffer.from(`${at} `)),
  );
  using made = await agent(answering(messages, OK));
  const call = begin(made.session);
  expect(await read(call)).toBe(messages.map((_, at) => `${at} `).join(''));
  expect(await call.next()).toBeUndefined();
});

it('sends in the order of the calls', async () => {
  using made = await agent((stream) => {
    stream.respond(GRPC, { waitForTrailers: true });
    stream.once('wantTrailers', () => stream.sendTrailers(OK));
    let came = Buffer.alloc(0);
    stream.on('data', (bytes: Buffer) => {
      came = Buffer.concat([came, bytes]);
      if (!came.includes('last')) return;
      stream.write(frame('stdout', came));
      stream.end();
    });
  });
  const call = begin(made.session);
  const texts = ['one', 'two', 'x'.repeat(100_000), 'last'];
  const sent = texts.map((text) => call.send(stdin(text)));
  const framer = createFramer(StreamInputSchema);
  expect(await read(call)).toBe(Buffer.concat(texts.flatMap((text) => framer(stdin(text)))).toString());
  await Promise.all(sent);
});

it('holds the agent back while its reader does not read', async () => {
  const part = frame('stdout', Buffer.alloc(64 * 1024, 'x'));
  let sent = 0;
  using made = await agent((stream) => {
    stream.respond(GRPC);
    const send = (): void => {
      sent += part.length;
      stream.write(part, (error) => {
        if (!error) send();
      });
    };
    send();
  });
  const call = begin(made.session);
  await call.next();
  for (let before = -1, still = 0; still < 300 && sent < AHEAD_BYTES; still = before === sent ? still + 1 : 0) {
    before = sent;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(sent).toBeLessThan(AHEAD_BYTES);
  for (let read = 0; read < 2 * AHEAD_BYTES; ) read += ((await call.next())?.part.value as Uint8Array).length;
  expect(sent).toBeGreaterThan(AHEAD_BYTES);
  call.cancel();
});

describe('a call that fails', () => {
  const failed = async (answer: Answer): Promise<AgentCallError> => {
    using made = await agent(answer);
    const error = await read(begin(made.session)).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(AgentCallError);
    return error as AgentCallError;
  };

  it('says what the agent says, after all that came before', async () => {
    const trailers = {
      'grpc-status': '5',
      'grpc-message': '100 %25 gr%C3%B6%C3%9Fer',
      'gantry-status-bin': Buffer.from('{"code":404}').toString('base64'),
    };
    using made = await agent(answering([frame('stdout', Buffer.from('half'))], trailers));
    const call = begin(made.session);
    expect(textOf(await call.next())).toBe('half');
    const error = await call.next().catch((failure: unknown) => failure as AgentCallError);
    expect(error).toMatchObject({
      code: status.NOT_FOUND,
      details: '100 % größer',
      carried: Buffer.from('{"code":404}'),
    });
  });

  it('says so when nothing else comes', async () => {
    const refuse: Answer = (stream) => {
      stream.respond({ ...GRPC, 'grpc-status': '7', 'grpc-message': 'no %' }, { endStream: true });
    };
    expect(await failed(refuse)).toMatchObject({ code: status.PERMISSION_DENIED, details: 'no %' });
  });

  it.each<[string, Answer, number, string]>([
    ['has no status', answering([], {}), status.UNAVAILABLE, 'broken off'],
    ['is no gRPC', (stream) => stream.respond({ ':status': 503 }, { endStream: true }), status.UNAVAILABLE, '503'],
    ['is broken off', (stream) => stream.session?.destroy(), status.UNAVAILABLE, 'broken off'],
    ['is reset', (stream) => stream.close(2), status.UNAVAILABLE, 'broken off'],
    [
      'ends within a message',
      answering([frame('stdout', Buffer.from('abc')).subarray(0, 8)], OK),
      status.UNAVAILABLE,
      'within a message',
    ],
    [
      'has a message that is too long',
      answering([Buffer.from([0, 255, 0, 0, 0])], OK),
      status.UNAVAILABLE,
      'more than',
    ],
  ])('is one that %s', async (_what, answer, code, details) => {
    expect(await failed(answer)).toMatchObject({ code, details: expect.stringContaining(details) });
  });
});

it.each(['before it begins', 'while it is read'])('ends for its reader when it is cancelled %s', async (when) => {
  const closed = Promise.withResolvers<number>();
  using made = await agent((stream) => {
    stream.respond(GRPC);
    stream.write(frame('stdout', Buffer.from('half')));
    stream.once('close', () => closed.resolve(stream.rstCode));
  });
  const abort = new AbortController();
  if (when === 'before it begins') abort.abort();
  const call = begin(made.session, abort.signal);
  if (when === 'while it is read') expect(textOf(await call.next())).toBe('half');
  const next = call.next();
  abort.abort();
  await expect(next).rejects.toMatchObject({ code: status.CANCELLED });
  await call.send(stdin('too late'));
  if (when === 'while it is read') expect(await closed.promise).toBe(8);
});
