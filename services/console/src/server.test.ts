import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApiServer, type TestApiServer } from '@gantry/apiserver/testing';
import { ManualClock } from '@gantry/base/testing';
import { createHttpClient, parseKubeconfig } from '@gantry/client';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import {
  type FakeApi,
  startConsole,
  startFakeApi,
  type TestConsole,
  type TestConsoleOptions,
} from './testing/console.ts';

const JSON_BODY = { 'content-type': 'application/json' };
const CONFIG_MAPS = '/kubernetes/api/v1/namespaces/default/configmaps';

let api: TestApiServer;
let tokens: { readonly administrator: string; readonly reader: string };
let fake: FakeApi;

beforeAll(async () => {
  api = await startApiServer();
  using client = createHttpClient(parseKubeconfig(api.kubeconfig));
  const post = async (path: string, body: object) =>
    JSON.parse(
      await client.raw(
        { method: 'POST', path, contentType: 'application/json', body: JSON.stringify(body) },
        AbortSignal.timeout(60_000),
      ),
    ) as { readonly status: { readonly token: string } };
  const account = async (name: string) => {
    const path = '/api/v1/namespaces/default/serviceaccounts';
    await post(path, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } });
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } };
    return (await post(`${path}/${name}/token`, request)).status.token;
  };
  tokens = { administrator: await account('administrator'), reader: await account('reader') };
  await post('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'administrator' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'administrator' }],
  });
  fake = await startFakeApi();
});
afterAll(async () => {
  await api.stop();
  await fake[Symbol.asyncDispose]();
});

/** A console in front of the real API server. */
async function open(options: Partial<TestConsoleOptions> = {}): Promise<TestConsole> {
  const started = await startConsole({ url: api.url, ca: api.pki.ca, ...options });
  onTestFinished(() => started[Symbol.asyncDispose]());
  return started;
}

const openFake = (options: Partial<TestConsoleOptions> = {}) => open({ url: fake.url, ca: fake.ca, ...options });

test('who signs in with a token acts as its user, and no response contains the token', async () => {
  const page = await open();
  expect((await page.call('GET', '/session')).code).toBe(401);
  const { headers, cookie } = await page.signIn(tokens.administrator);
  const session = await page.call('GET', '/session', { headers });
  expect(JSON.parse(session.text)).toMatchObject({
    user: 'system:serviceaccount:default:administrator',
    groups: expect.arrayContaining(['system:serviceaccounts']),
    cluster: { id: 'test', version: 'v1.36.2' },
    csrf: headers['x-csrf-token'],
  });
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'made' }, data: { a: 'b' } });
  const made = await page.call('POST', CONFIG_MAPS, { headers: { ...headers, ...JSON_BODY }, body });
  expect([made.code, JSON.parse(made.text)]).toMatchObject([
    201,
    { metadata: { managedFields: [{ manager: 'gantry-console' }] } },
  ]);
  const read = await page.call('GET', `${CONFIG_MAPS}/made`, { headers: { cookie } });
  for (const reply of [session, made, read]) {
    expect(`${JSON.stringify(reply.headers)}${reply.text}`).not.toContain(tokens.administrator.slice(-40));
    expect(reply.headers['cache-control']).toBe('no-store');
  }
  expect(made.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
  expect(made.headers['content-security-policy']).toContain("sandbox; default-src 'none'");
});

test('the cookie is for this console alone, and scripts do not see it', async () => {
  const page = await open();
  const reply = await page.call('POST', '/session', {
    headers: JSON_BODY,
    body: JSON.stringify({ token: tokens.reader }),
  });
  expect(reply.headers['set-cookie']).toEqual([
    expect.stringMatching(/^gantry-session-test=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/),
  ]);
});

test('a user without rights is refused by the API server, not by the console', async () => {
  const page = await open();
  const { headers } = await page.signIn(tokens.reader);
  const reply = await page.call('GET', CONFIG_MAPS, { headers });
  expect([reply.code, JSON.parse(reply.text)]).toMatchObject([403, { kind: 'Status', reason: 'Forbidden' }]);
});

test.each([
  ['no token', '', 400, 'token: not a bearer token'],
  ['a token with a line break', 'a\r\nImpersonate-User: x', 400, 'token: not a bearer token'],
  ['a token that is too long', 'x'.repeat(12 * 1024 + 1), 400, 'token: not a bearer token'],
  ['a token of nobody', 'x.y.z', 401, 'Unauthorized'],
])('%s signs nobody in', async (_, token, code, message) => {
  const page = await open();
  const reply = await page.call('POST', '/session', { headers: JSON_BODY, body: JSON.stringify({ token }) });
  expect([reply.code, reply.text]).toEqual([code, expect.stringContaining(message)]);
  expect(reply.headers['set-cookie']).toBeUndefined();
});

test.each([
  ['another type', { 'content-type': 'text/plain' }, '{"token":"x"}', 400, 'Content-Type: application/json'],
  ['no JSON', JSON_BODY, '{"token', 400, 'JSON'],
  ['another field', JSON_BODY, '{"token":"x","user":"root"}', 400, 'the only field token or code'],
  ['a field of another type', JSON_BODY, '{"code":["x"]}', 400, 'the only field token or code'],
  ['an inherited field', JSON_BODY, '{"__proto__":{"token":"x"}}', 400, 'the only field token or code'],
  ['too much', JSON_BODY, JSON.stringify({ token: 'x'.repeat(33_000) }), 413, 'too large'],
  ['something compressed', { ...JSON_BODY, 'content-encoding': 'gzip' }, '{"token":"x"}', 415, 'encoding'],
])('a body with %s is refused', async (_, headers, body, code, message) => {
  const page = await openFake();
  const reply = await page.call('POST', '/session', { headers, body });
  expect([reply.code, reply.text]).toEqual([code, expect.stringContaining(message)]);
});

test('what changes something needs the secret of its session', async () => {
  const page = await open();
  const one = await page.signIn(tokens.administrator);
  const other = await page.signIn(tokens.administrator);
  const { cookie } = one;
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
    for (const csrf of [undefined, '', 'x', other.csrf]) {
      const headers = { cookie, ...(csrf === undefined ? {} : { 'x-csrf-token': csrf }) };
      const reply = await page.call(method, CONFIG_MAPS, { headers });
      expect([reply.code, reply.text], `${method} ${csrf}`).toEqual([403, expect.stringContaining('X-CSRF-Token')]);
    }
  expect((await page.call('DELETE', '/session', { headers: { cookie } })).code).toBe(403);
  expect((await page.call('DELETE', '/session', { headers: one.headers })).code).toBe(204);
  expect((await page.call('GET', '/session', { headers: { cookie } })).code).toBe(401);
  expect((await page.call('GET', '/session', { headers: other.headers })).code).toBe(200);
});

test('a name of somebody else that leads here gets nothing (DNS rebinding)', async () => {
  const page = await open();
  const { headers } = await page.signIn(tokens.administrator);
  for (const path of ['/', '/session', '/session/links', '/assets/x.js', CONFIG_MAPS])
    for (const host of ['evil.example', `evil.example:${page.port}`, '127.0.0.1', `127.0.0.1:${page.port}.evil`]) {
      const reply = await page.call('GET', path, { headers: { ...headers, host } });
      expect([reply.code, reply.text]).toEqual([421, expect.stringContaining('GANTRY_CONSOLE_ORIGINS')]);
    }
});

test.each([
  [{ origin: 'http://evil.example' }],
  [{ origin: 'null' }],
  [{ origin: 'http://127.0.0.1:1' }],
  [{ 'sec-fetch-site': 'cross-site' }],
  // A page on another port of this host, such as that of an Ingress.
  [{ 'sec-fetch-site': 'same-site' }],
])('a page of another origin gets nothing: %j', async (foreign) => {
  const page = await open();
  const { headers } = await page.signIn(tokens.administrator);
  for (const path of ['/session', CONFIG_MAPS]) {
    const reply = await page.call('GET', path, { headers: { ...headers, ...foreign } });
    expect([path, reply.code]).toEqual([path, 403]);
  }
  const signIn = { headers: { ...JSON_BODY, ...foreign }, body: JSON.stringify({ token: tokens.reader }) };
  expect((await page.call('POST', '/session', signIn)).code).toBe(403);
});

test('responses of the API server, which may be of a pod, are neither run nor embedded', async () => {
  const page = await open();
  const { headers } = await page.signIn(tokens.administrator);
  const ask = (destination: string) =>
    page.call('GET', CONFIG_MAPS, { headers: { ...headers, 'sec-fetch-dest': destination } });
  for (const one of ['script', 'style', 'worker', 'serviceworker', 'iframe', 'image', 'object'])
    expect([one, (await ask(one)).code]).toEqual([one, 403]);
  for (const one of ['empty', 'document']) expect([one, (await ask(one)).code]).toEqual([one, 200]);
});

test('a link signs in one browser, once', async () => {
  const clock = new ManualClock(Date.now());
  const page = await openFake({ clock });
  const link = async () => {
    const reply = await page.call('POST', '/session/links', { headers: JSON_BODY, body: '{"token":"token-jane"}' });
    return (JSON.parse(reply.text) as { readonly code: string }).code;
  };
  const signIn = (code: string, cookie = '') =>
    page.call('POST', '/session', {
      headers: { ...JSON_BODY, cookie, origin: page.origin },
      body: JSON.stringify({ code }),
    });
  const code = await link();
  const first = await signIn(code);
  expect([first.code, JSON.parse(first.text)]).toMatchObject([200, { user: 'jane' }]);
  expect((await signIn(code)).code).toBe(401);
  const late = await link();
  await clock.advance(120_000);
  expect((await signIn(late)).code).toBe(401);
  expect((await signIn('')).code).toBe(401);
  // Who makes a user open a link of his own does not get that user's work.
  const foreign = await link();
  const { cookie } = await page.signIn('token-joe');
  const refused = await signIn(foreign, cookie);
  expect([refused.code, refused.text]).toEqual([409, expect.stringContaining('joe has signed in already')]);
  expect((await signIn(foreign)).code).toBe(200);
});

test('links are made neither by pages nor without a valid token', async () => {
  const page = await openFake();
  const make = (headers: object, token: string) =>
    page.call('POST', '/session/links', { headers: { ...JSON_BODY, ...headers }, body: JSON.stringify({ token }) });
  expect((await make({}, 'token-jane')).code).toBe(201);
  expect((await make({}, 'other')).code).toBe(401);
  expect((await make({ origin: page.origin }, 'token-jane')).code).toBe(403);
  expect((await make({ 'sec-fetch-site': 'none' }, 'token-jane')).code).toBe(403);
});

test('two cookies of the name count as none: one may be of a page on another port', async () => {
  const page = await openFake();
  const { cookie } = await page.signIn('token-jane');
  const { cookie: planted } = await page.signIn('token-mallory');
  const reply = await page.call('GET', '/session', { headers: { cookie: `${planted}; ${cookie}` } });
  expect(reply.code).toBe(401);
});

test('further sessions of a user end earlier ones', async () => {
  const page = await openFake();
  const cookies = [];
  for (let i = 0; i < 6; i++) cookies.push((await page.signIn('token-jane')).cookie);
  const codes = await Promise.all(
    cookies.map(async (cookie) => (await page.call('GET', '/session', { headers: { cookie } })).code),
  );
  expect(codes).toEqual([401, 401, 200, 200, 200, 200]);
});

test('a session ends when the API server no longer knows its token, and lasts while the API server is away', async () => {
  const own = await startFakeApi();
  const page = await open({ url: own.url, ca: own.ca });
  const { headers } = await page.signIn('token-jane');
  await own[Symbol.asyncDispose]();
  const away = await page.call('GET', '/session', { headers });
  expect([away.code, JSON.parse(away.text)]).toMatchObject([200, { user: 'jane', cluster: { version: '' } }]);
  const refused = await page.call('GET', CONFIG_MAPS, { headers });
  expect([refused.code, JSON.parse(refused.text)]).toMatchObject([
    503,
    { kind: 'Status', reason: 'ServiceUnavailable' },
  ]);
});

test('headers that are too large, and bodies that the API server refuses', async () => {
  const page = await open();
  const { headers } = await page.signIn(tokens.administrator);
  const large = await page.call('GET', CONFIG_MAPS, { headers: { ...headers, accept: 'x'.repeat(40_000) } });
  expect(large.code).toBe(431);
  const body = JSON.stringify({
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name: 'x' },
    data: { a: 'x'.repeat(4e6) },
  });
  const reply = await page.call('POST', CONFIG_MAPS, { headers: { ...headers, ...JSON_BODY }, body });
  expect([reply.code, JSON.parse(reply.text)]).toMatchObject([413, { reason: 'RequestEntityTooLarge' }]);
});

test('two requests in one are two requests', async () => {
  const page = await openFake();
  const { headers } = await page.signIn('token-jane');
  const seen: string[] = [];
  fake.serve = (req, res) => {
    seen.push(`${req.method} ${req.url}`);
    req.resume().on('end', () => res.end('{}'));
  };
  const smuggled = 'DELETE /api/v1/nodes/x HTTP/1.1\r\nHost: x\r\n\r\n';
  const head = `POST /kubernetes/api HTTP/1.1\r\nHost: 127.0.0.1:${page.port}\r\nCookie: ${headers['cookie']}\r\nX-CSRF-Token: ${headers['x-csrf-token']}\r\n`;
  const send = (text: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = net.connect(page.port, '127.0.0.1', () => socket.write(text));
      let answer = '';
      socket.setEncoding('utf8').on('data', (part: string) => (answer += part));
      socket.on('end', () => resolve(answer)).on('error', reject);
    });
  const both = `${head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n${smuggled}`;
  expect(await send(both)).toMatch(/^HTTP\/1\.1 400/);
  await send(`${head}Content-Length: ${smuggled.length}\r\nConnection: close\r\n\r\n${smuggled}`);
  expect(seen).toEqual(['POST /api']);
});

test('without a front end the page says how to build it', async () => {
  const reply = await (await openFake()).call('GET', '/');
  expect([reply.code, reply.text]).toEqual([503, expect.stringContaining('npm run -w @gantry/console build:web')]);
});

test('each address of a view is the page; files are served for good where their name has their hash', async () => {
  const webDir = mkdtempSync(join(tmpdir(), 'console-web-'));
  onTestFinished(() => rmSync(webDir, { recursive: true }));
  mkdirSync(join(webDir, 'assets'));
  writeFileSync(join(webDir, 'index.html'), '<!doctype html>the page');
  writeFileSync(join(webDir, 'icon.svg'), '<svg/>');
  writeFileSync(join(webDir, 'assets/index-x1.js'), `${'1;'.repeat(2000)}`);
  writeFileSync(join(webDir, '../outside.txt'), 'outside');
  onTestFinished(() => rmSync(join(webDir, '../outside.txt')));
  const page = await openFake({ webDir });
  for (const path of ['/', '/pods/default/web?tab=logs', '/%2e%2e/outside.txt', '/..%2foutside.txt', '/sessions']) {
    const { code, headers, text } = await page.call('GET', path);
    expect([path, code, text]).toEqual([path, expect.any(Number), expect.not.stringContaining('outside')]);
    if (code === 200) expect([text, headers['cache-control']]).toEqual(['<!doctype html>the page', 'no-cache']);
  }
  const view = await page.call('GET', '/pods/default/web', { headers: { 'sec-fetch-site': 'cross-site' } });
  expect(view.code, 'a link of another page').toBe(200);
  expect(view.headers['content-security-policy']).toContain(`connect-src 'self' ws://127.0.0.1:${page.port}`);
  expect(view.headers).toMatchObject({ 'x-frame-options': 'DENY', 'cross-origin-opener-policy': 'same-origin' });
  const asset = await page.call('GET', '/assets/index-x1.js', { headers: { 'accept-encoding': 'gzip' } });
  expect([asset.code, asset.headers['cache-control'], asset.headers['content-encoding']]).toEqual([
    200,
    'public, max-age=31536000, immutable',
    'gzip',
  ]);
  expect((await page.call('GET', '/icon.svg')).headers['cache-control']).toBe('no-cache');
  expect((await page.call('GET', '/assets/index-x2.js')).code).toBe(404);
  expect((await page.call('POST', '/')).code).toBe(405);
});

test('only requests for the API server switch the protocol', async () => {
  const page = await openFake();
  const { headers } = await page.signIn('token-jane');
  const code = await new Promise<number>((resolve, reject) => {
    const upgrade = { ...headers, connection: 'Upgrade', upgrade: 'websocket' };
    const request = http.get({ host: '127.0.0.1', port: page.port, path: '/', headers: upgrade });
    request.on('response', ({ statusCode = 0 }) => resolve(statusCode)).on('error', reject);
  });
  expect(code).toBe(400);
});
