import { on, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { ManualClock } from '@gantry/base/testing';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { sendFrames } from './watch-stream.ts';
import { callServer } from '../../testing/call-server.ts';
import { createFastClock } from '../../testing/fast-clock.ts';
import { startApiServer, type TestApiServer } from '../../testing/start-api-server.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

let server: TestApiServer;

beforeAll(async () => {
  server = await startApiServer({ clock: createFastClock() });
});
afterAll(() => server.stop());

function open(path: string, headers: Record<string, string> = {}): WebSocket {
  const socket = new WebSocket(`${server.url}${path}`.replace(/^https/, 'wss'), { ...server.admin, headers });
  onTestFinished(() => socket.terminate());
  return socket;
}

interface Message {
  readonly text: string;
  readonly type: string;
}

/** Messages from now on, in their order, each with its type. */
function received(socket: WebSocket): AsyncGenerator<Message> {
  const messages = on(socket, 'message') as AsyncIterable<[data: Buffer, isBinary: boolean]>;
  return (async function* () {
    for await (const [data, isBinary] of messages) {
      yield { text: data.toString(), type: isBinary ? 'binary' : 'text' };
    }
  })();
}

async function create(name: string): Promise<void> {
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
  const headers = { 'content-type': 'application/json' };
  expect((await callServer(server, 'POST', CONFIG_MAPS, { headers, body })).code).toBe(201);
}

async function watching(): Promise<number> {
  const { bytes } = await callServer(server, 'GET', '/metrics');
  return Number(/^apiserver_longrunning_requests\{resource="configmaps"\} (\d+)/m.exec(bytes.toString())?.[1] ?? 0);
}

test('a watch over a WebSocket has an event in each message, and ends when the client leaves', async () => {
  const { json } = await callServer(server, 'GET', CONFIG_MAPS);
  const { resourceVersion } = json['metadata'] as unknown as { readonly resourceVersion: string };
  const before = await watching();
  const socket = open(`${CONFIG_MAPS}?watch=1&resourceVersion=${resourceVersion}`);
  const messages = received(socket);
  await once(socket, 'open');
  for (const name of ['one', 'two']) {
    await create(name);
    const { value } = await messages.next();
    expect([value?.type, JSON.parse(value?.text ?? '')]).toMatchObject([
      'text',
      { type: 'ADDED', object: { kind: 'ConfigMap', metadata: { name } } },
    ]);
  }
  expect(await watching()).toBe(before + 1);
  socket.close();
  await expect.poll(watching).toBe(before);
});

test('a watch over a WebSocket sends Tables as other watches do, and ends at its timeout', async () => {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const socket = open(`${CONFIG_MAPS}?watch=1&timeoutSeconds=20`, { accept });
  const closed = once(socket, 'close');
  const { value } = await received(socket).next();
  expect(JSON.parse(value?.text ?? '')).toMatchObject({ type: 'ADDED', object: { kind: 'Table' } });
  expect((await closed)[0]).toBe(1000);
});

test('objects arrive in their order', async () => {
  for (const name of ['z-1', 'z-2', 'z-3']) await create(name);
  const messages = received(open(`${CONFIG_MAPS}?watch=1`));
  const names: string[] = [];
  while (names.at(-1) !== 'z-3') {
    const { value } = await messages.next();
    const { object } = JSON.parse(value?.text ?? '') as { readonly object: { readonly metadata: { name: string } } };
    names.push(object.metadata.name);
  }
  expect(names).toEqual(names.toSorted());
});

test('a client that does not read gets 128 KiB, and is disconnected after 30 seconds', async () => {
  const clock = new ManualClock();
  let sent = 0;
  const messages = {
    ended: new AbortController().signal,
    send: () => {
      sent += 1;
      return new Promise<void>(() => undefined);
    },
    close: () => undefined,
  };
  const sending = sendFrames(messages, Array<Uint8Array>(1000).fill(Buffer.alloc(50_000)), clock);
  await clock.advance(29_999);
  expect(sent).toBe(3);
  await clock.advance(1);
  expect([await sending, sent]).toEqual([false, 3]);
});

test('a version that is too old is an event', async () => {
  const socket = open(`${CONFIG_MAPS}?watch=1&resourceVersion=1`);
  const { value } = await received(socket).next();
  expect(JSON.parse(value?.text ?? '')).toMatchObject({ type: 'ERROR', object: { kind: 'Status', reason: 'Expired' } });
});

test('requests that are no watch get their response, whatever they would switch to', async () => {
  for (const [path, code] of [
    [CONFIG_MAPS, 200],
    [`${CONFIG_MAPS}/missing`, 404],
    ['/apis/none.example/v1/things?watch=1', 404],
  ] as const) {
    const socket = open(path);
    socket.on('error', () => undefined);
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    expect([path, response.statusCode]).toEqual([path, code]);
  }
  const headers = { connection: 'Upgrade', upgrade: 'websocket' };
  const bad = await callServer(server, 'GET', `${CONFIG_MAPS}?watch=1`, { headers });
  expect([bad.code, bad.json['message']]).toEqual([400, expect.stringContaining('WebSocket: ')]);
});
