import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { ManualClock } from '@gantry/base/testing';
import type { HTTPHeader } from '@gantry/objects';
import { expect, it, onTestFinished } from 'vitest';
import { container } from '../../testing/pods.ts';
import { performProbe } from '../perform-probe.ts';
import { runHook } from '../run-hook.ts';

const containers = { exec: () => Promise.reject(new RangeError('no command')) };

/** A server that gives each request to `answer` as soon as its headers are there. */
async function startServer(answer: (socket: Socket) => void) {
  const seen: string[] = [];
  const server = createServer((socket) => {
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.once('data', (data) => {
      seen.push(data.toString());
      answer(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const target = {
    container: container(),
    containerId: 'id',
    pod: 'web_default(uid-1)',
    address: '127.0.0.1',
    network: 'pod',
  } as const;
  const stop = new AbortController();
  const probe = (httpHeaders?: HTTPHeader[]) =>
    performProbe({ httpGet: { port, path: '/p', httpHeaders } }, target, containers, stop.signal);
  const hook = () =>
    runHook({ httpGet: { port, path: '/h' } }, { ...target, containers }, new ManualClock(), stop.signal);
  return { seen, port, probe, hook, stop };
}

const respond = (head: string, body: string, end: 'end' | 'hang') => (socket: Socket) => {
  socket.write(`HTTP/1.1 ${head}\r\n\r\n${body}`);
  if (end === 'end') socket.end();
};
/** Calls `then` as soon as a client has the headers of the next response. */
function onResponse(then: () => void): void {
  const channel = 'http.client.response.finish';
  const heard = () => {
    unsubscribe(channel, heard);
    setImmediate(then);
  };
  subscribe(channel, heard);
}

const EOF = { kind: 'failure', message: 'unexpected EOF', cause: 'error' };

it.each([
  ['a length', 'Content-Length: 9', 'short', EOF],
  ['chunks', 'Transfer-Encoding: chunked', '9\r\nshort', EOF],
  ['no length', 'A: b', 'short', { kind: 'success' }],
])('a body with %s must arrive as a whole', async (_what, header, body, outcome) => {
  const { probe, hook } = await startServer(respond(`200 OK\r\n${header}`, body, 'end'));
  expect(await probe()).toEqual(outcome);
  // A hook needs only a response.
  await hook();
});

const whole = (text: string) => (socket: Socket) => {
  socket.end(text);
};

it.each([
  ['lines without a carriage return', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
  ['a long head', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\nContent-Length: 2\r\n\r\nok`],
  [
    'a length and chunks',
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
  ],
  ['a folded header', 'HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok'],
  ['more than its length', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more'],
])('a response with %s is accepted, as by Go', async (_what, text) => {
  const { probe, hook } = await startServer(whole(text));
  expect(await probe()).toEqual({ kind: 'success' });
  await hook();
});

it('a server that switches the protocol has failed a probe, and responded to a hook', async () => {
  const head = '101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x';
  const { probe, hook } = await startServer(respond(head, '', 'hang'));
  expect(await probe()).toEqual({ kind: 'failure', message: 'HTTP probe failed with statuscode: 101' });
  await hook();
});

it('the status of an incomplete response does not count', async () => {
  const { probe } = await startServer(respond('503 Busy\r\nContent-Length: 9', 'short', 'end'));
  expect(await probe()).toEqual(EOF);
});

it('a body that does not arrive in time is an error', async () => {
  const { probe, stop } = await startServer(respond('200 OK\r\nContent-Length: 9', 'short', 'hang'));
  onResponse(() => stop.abort());
  expect(await probe()).toEqual({
    kind: 'failure',
    message: 'context deadline exceeded (Client.Timeout or context cancellation while reading body)',
    cause: 'error',
  });
});

it('of a body only 10 KB are read, whether or not more follows', async () => {
  const long = 'x'.repeat(10 * 1024);
  const { probe, hook } = await startServer(respond('200 OK', long, 'hang'));
  expect(await probe()).toEqual({ kind: 'success' });
  await hook();
  const other = await startServer(respond('302 Found\r\nLocation: http://example.com/', `${long}and more`, 'hang'));
  expect(await other.probe()).toEqual({
    kind: 'success',
    warning: `Probe terminated redirects, Response body: ${long}`,
  });
});

it('a hook waits for a short body until it ends or the hook is given up, and for no long one', async () => {
  const { hook, stop } = await startServer(respond('200 OK\r\nContent-Length: 9', 'short', 'hang'));
  onResponse(() => stop.abort());
  await expect(hook()).rejects.toThrow('aborted');
  const other = await startServer(respond('200 OK\r\nContent-Length: 10241', 'long', 'hang'));
  await other.hook();
});

const headersFor = async (httpHeaders: HTTPHeader[]) => {
  const { seen, port, probe } = await startServer(respond('200 OK\r\nContent-Length: 0', '', 'end'));
  expect(await probe(httpHeaders)).toEqual({ kind: 'success' });
  const [, ...lines] = (seen[0] ?? '').trimEnd().split('\r\n');
  return lines.map((line) => line.replace(`:${port}`, ':PORT')).toSorted();
};

it.each([
  [
    [
      ['X-A', '1'],
      ['x-a', '2'],
      ['X-A', '1'],
    ],
    [
      'Accept: */*',
      'Connection: close',
      'Host: 127.0.0.1:PORT',
      'User-Agent: kube-probe/1.36',
      'X-A: 1',
      'X-A: 1',
      'X-A: 2',
    ],
  ],
  [
    [
      ['host', 'a.example'],
      ['Host', 'b.example'],
      ['user-agent', 'me'],
      ['User-Agent', 'you'],
      ['Accept', 'a/b'],
      ['accept', 'c/d'],
    ],
    ['Accept: a/b', 'Accept: c/d', 'Connection: close', 'host: a.example', 'user-agent: me'],
  ],
  [
    [
      ['Accept', ''],
      ['User-Agent', ''],
      ['Content-Length', '5'],
      ['Transfer-Encoding', 'chunked'],
      ['Trailer', 'X'],
      ['X-Empty', ''],
      ['X-Text', 'ü→'],
    ],
    ['Connection: close', 'Host: 127.0.0.1:PORT', 'X-Empty:', 'X-Text: ü→'],
  ],
])('headers are sent as Go sends them: %j', async (headers, expected) => {
  const given = headers.map(([name = '', value = '']) => ({ name, value }));
  expect((await headersFor(given)).map((line) => line.trimEnd())).toEqual(expected);
});
