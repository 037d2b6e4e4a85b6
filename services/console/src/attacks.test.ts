import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import net from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { ManualClock } from '@gantry/base/testing';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import {
  type FakeApi,
  startConsole,
  startFakeApi,
  type TestConsole,
  type TestConsoleOptions,
} from './testing/console.ts';

const JSON_BODY = { 'content-type': 'application/json' };

let api: FakeApi;
/** What the API server was asked. */
let seen: string[] = [];
let review: FakeApi['review'];

beforeAll(async () => {
  api = await startFakeApi();
  review = api.review;
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(() => {
  seen = [];
  api.review = review;
  api.serve = (req, res) => {
    seen.push(`${req.method} ${req.url}`);
    req.resume().on('end', () => res.end('{}'));
  };
  api.upgrade = (req, socket) => {
    seen.push(`${req.method} ${req.url} upgrade`);
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}');
  };
});

async function open(options: Partial<TestConsoleOptions> = {}): Promise<TestConsole> {
  const page = await startConsole({ url: api.url, ca: api.ca, ...options });
  onTestFinished(() => page[Symbol.asyncDispose]());
  return page;
}

/** Bytes on a connection, and all that comes back until it ends. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(text));
    let answer = '';
    socket.setEncoding('latin1').on('data', (part: string) => (answer += part));
    socket.on('close', () => resolve(answer)).on('error', () => undefined);
  });
}

test.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
  'a %s that asks for another protocol needs the secret of its session, too',
  async (method) => {
    const page = await open();
    const { headers } = await page.signIn('token-jane');
    const upgrade = { ...headers, connection: 'Upgrade', upgrade: 'websocket' };
    const without = await page.call(method, '/kubernetes/api/v1/nodes/x', {
      headers: { ...upgrade, 'x-csrf-token': 'x' },
    });
    expect([without.code, seen]).toEqual([403, []]);
    expect((await page.call(method, '/kubernetes/api/v1/nodes/x', { headers: upgrade })).code).toBe(200);
    expect(seen).toEqual([`${method} /api/v1/nodes/x upgrade`]);
  },
);

test.each([
  'GET http://127.0.0.1:6443/kubernetes/api',
  'GET http://evil.example/kubernetes/api',
  'GET //kubernetes/api',
  'GET /kubernetes//evil.example/api',
  'GET /%6bubernetes/api',
  'GET /KUBERNETES/api',
  'GET /kubernetes',
  'GET /kubernetes/../session',
  'GET /kubernetes/openapi/%2e%2e/api/v1/secrets',
  'GET /kubernetes/openapi/..%2fapi/v1/secrets',
  'GET /kubernetes/openapi/%2E./api/v1/secrets',
  'GET /kubernetes/openapi/..%5capi/v1/secrets',
  'GET /kubernetes/openapi\\..\\api/v1/secrets',
  'GET /kubernetes/api/\u00ff\u0001',
  'OPTIONS *',
  'CONNECT 127.0.0.1:6443',
  'PRI *',
])('%s is passed on to nobody', async (line) => {
  const page = await open();
  const { headers } = await page.signIn('token-jane');
  const sent = Object.entries({ host: new URL(page.origin).host, connection: 'close', ...headers });
  const answer = await raw(
    page.port,
    `${line} HTTP/1.1\r\n${sent.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
  );
  expect([answer, seen]).toEqual([expect.stringMatching(/^$|^HTTP\/1\.1 [45]/), []]);
});

test.each([
  ['two lengths', 'Content-Length: 4\r\nContent-Length: 40'],
  ['a length that is no number', 'Content-Length: 0x4'],
  ['a signed length', 'Content-Length: +4'],
  ['a space before the colon', 'Transfer-Encoding : chunked'],
  ['another coding', 'Transfer-Encoding: chunked, identity'],
  ['a folded header', 'Transfer-Encoding:\r\n chunked\r\nContent-Length: 4'],
])('%s cannot hide a second request', async (_, header) => {
  const page = await open();
  const { headers } = await page.signIn('token-jane');
  const sent = Object.entries({ host: new URL(page.origin).host, ...headers });
  const head = sent.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const answer = raw(
    page.port,
    `POST /kubernetes/api HTTP/1.1\r\n${head}${header}\r\n\r\n0\r\n\r\nDELETE /api/v1/nodes/x HTTP/1.1\r\nConnection: close\r\nHost: x\r\n\r\n`,
  );
  expect(await answer).toMatch(/^HTTP\/1\.1 400/);
  expect(seen.filter((one) => one.includes('DELETE'))).toEqual([]);
});

test('a cookie that somebody chose is no session, and signing in makes a new one', async () => {
  const page = await open();
  const cookie = 'gantry-session-test=chosen';
  const signIn = await page.call('POST', '/session', {
    headers: { ...JSON_BODY, cookie, origin: page.origin },
    body: '{"token":"token-jane"}',
  });
  expect([signIn.code, signIn.headers['set-cookie']?.[0]]).toEqual([200, expect.not.stringContaining('chosen')]);
  expect((await page.call('GET', '/session', { headers: { cookie } })).code).toBe(401);
});

async function linkOf(page: TestConsole, user: string): Promise<string> {
  const { text } = await page.call('POST', '/session/links', { headers: JSON_BODY, body: `{"token":"token-${user}"}` });
  return (JSON.parse(text) as { readonly code: string }).code;
}

const openLink = (page: TestConsole, code: string) =>
  page.call('POST', '/session', { headers: { ...JSON_BODY, origin: page.origin }, body: JSON.stringify({ code }) });

test('of browsers that open a link at the same moment one signs in', async () => {
  const page = await open({ limits: { max: 100, maxOfUser: 100 } });
  const code = await linkOf(page, 'jane');
  const replies = await Promise.all(Array.from({ length: 20 }, () => openLink(page, code)));
  expect(replies.filter((reply) => reply.code === 200)).toHaveLength(1);
  expect(page.sessions.size).toBe(1);
});

test('whoever makes many links does not make those of others useless', async () => {
  const page = await open();
  const code = await linkOf(page, 'jane');
  const others = [];
  for (let i = 0; i < 40; i++) others.push(await linkOf(page, 'mallory'));
  expect((await openLink(page, code)).code).toBe(200);
  expect((await openLink(page, others[0] ?? '')).code).toBe(401);
  expect((await openLink(page, others.at(-1) ?? '')).code).toBe(200);
});

test('who has not signed in cannot hold a connection by a slow body', async () => {
  const clock = new ManualClock(Date.now());
  const page = await open({ clock });
  for (const path of ['/session', '/session/links']) {
    const answer = raw(
      page.port,
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${page.port}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
    );
    await expect.poll(() => clock.nextTimerMs()).toBe(10_000);
    await clock.advance(10_000);
    expect(await answer).toBe('');
  }
});

test('a session has a limit of questions about itself', async () => {
  const page = await open({ limits: { maxRequests: 2 } });
  const { headers } = await page.signIn('token-jane');
  const asked = Promise.withResolvers<void>();
  const waiting: (() => void)[] = [];
  api.review = (req, res) => {
    waiting.push(() => review(req, res));
    if (waiting.length === 2) asked.resolve();
  };
  const open2 = [1, 2].map(() => page.call('GET', '/session', { headers }));
  await asked.promise;
  expect((await page.call('GET', '/session', { headers })).code).toBe(429);
  for (const answer of waiting) answer();
  expect((await Promise.all(open2)).map(({ code }) => code)).toEqual([200, 200]);
});

test.each([
  ['no JSON', 'not JSON'],
  ['nothing', 'null'],
  ['no user', '{"status":{}}'],
  ['an empty name', '{"status":{"userInfo":{"username":""}}}'],
  ['a name that is no text', '{"status":{"userInfo":{"username":{"toString":"x"}}}}'],
  ['groups that are no list', '{"status":{"userInfo":{"username":"jane","groups":"x"}}}'],
  ['groups that are no texts', '{"status":{"userInfo":{"username":"jane","groups":[{}]}}}'],
])('an API server that answers who has a token with %s signs nobody in', async (_, body) => {
  const page = await open();
  api.review = (_req, res) => res.writeHead(201, JSON_BODY).end(body);
  const reply = await page.call('POST', '/session', { headers: JSON_BODY, body: '{"token":"token-jane"}' });
  expect([reply.code, reply.headers['set-cookie'], page.sessions.size]).toEqual([503, undefined, 0]);
});

/** Answers the next request with these bytes. */
function answerWith(bytes: string): { readonly closed: Promise<unknown> } {
  const closed = Promise.withResolvers<void>();
  api.serve = (req) => {
    req.socket.once('close', () => closed.resolve());
    req.socket.write(bytes);
  };
  return { closed: closed.promise };
}

test.each([
  ['a status that is none', 'HTTP/1.1 099 x\r\nContent-Length: 4000000\r\n\r\n'],
  ['no HTTP', 'hello\r\n\r\n'],
  ['a switch that nobody asked for', 'HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n'],
  ['headers without end', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}`],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
])('an answer of the API server with %s is a failure, and its connection ends', async (_, bytes) => {
  const page = await open();
  const { headers } = await page.signIn('token-jane');
  const { closed } = answerWith(bytes);
  const reply = await page.call('GET', '/kubernetes/api', { headers });
  expect([reply.code, JSON.parse(reply.text)]).toMatchObject([503, { kind: 'Status', reason: 'ServiceUnavailable' }]);
  await closed;
});

test('an answer that breaks off breaks off for the page, too', async () => {
  const page = await open();
  const { headers } = await page.signIn('token-jane');
  api.serve = (req, res) => {
    res.writeHead(200, { 'content-length': '100' }).write('{"items":[');
    void setImmediate().then(() => req.socket.destroy());
  };
  await expect(page.call('GET', '/kubernetes/api', { headers })).rejects.toThrow();
});

test('a WebSocket of a page by another name for this host is refused', async () => {
  const page = await open();
  const { cookie } = await page.signIn('token-jane');
  for (const origin of [`http://localhost:${page.port}`, `https://127.0.0.1:${page.port}`, 'null', 'file://']) {
    const socket = new WebSocket(`ws://127.0.0.1:${page.port}/kubernetes/api`, [], { headers: { cookie, origin } });
    socket.on('error', () => undefined);
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    expect([origin, response.statusCode, seen]).toEqual([origin, 403, []]);
  }
});
