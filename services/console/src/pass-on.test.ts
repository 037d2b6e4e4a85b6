import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { type FakeApi, type SignedInBrowser, startConsole, startFakeApi, type TestConsole } from './testing/console.ts';

let api: FakeApi;

beforeAll(async () => {
  api = await startFakeApi();
});
afterAll(() => api[Symbol.asyncDispose]());

async function signedIn(): Promise<{ readonly page: TestConsole; readonly jane: SignedInBrowser }> {
  const page = await startConsole({ url: api.url, ca: api.ca });
  onTestFinished(() => page[Symbol.asyncDispose]());
  return { page, jane: await page.signIn('token-jane') };
}

test('the API server sees the user of the session, and no other header by which a page could act', async () => {
  const { page, jane } = await signedIn();
  let seen: IncomingMessage['headers'] = {};
  api.serve = (req, res) => {
    seen = req.headers;
    res.end('{}');
  };
  await page.call('GET', '/kubernetes/api', {
    headers: {
      ...jane.headers,
      accept: 'application/json',
      authorization: 'Bearer token-root',
      'impersonate-user': 'root',
      'x-remote-user': 'root',
      'x-forwarded-for': '1.2.3.4',
      'user-agent': 'page',
      te: 'trailers',
    },
  });
  const { host, connection, ...rest } = seen;
  expect([host, connection]).toEqual([new URL(api.url).host, 'keep-alive']);
  expect(rest).toEqual({
    accept: 'application/json',
    authorization: 'Bearer token-jane',
    'user-agent': 'gantry-console',
  });
});

test('a proxied pod sets neither cookies nor policies of the page', async () => {
  const { page, jane } = await signedIn();
  api.serve = (_req, res) => {
    res.writeHead(200, {
      'content-type': 'text/html',
      'set-cookie': 'gantry-session-test=mallory; Path=/',
      'content-security-policy': 'script-src *',
      'access-control-allow-origin': '*',
      'clear-site-data': '"cookies"',
      'x-frame-options': 'ALLOWALL',
      'service-worker-allowed': '/',
      'cache-control': 'public, max-age=9999',
      location: 'http://evil.example',
      'audit-id': 'a1',
    });
    res.end('<script>fetch("/session")</script>');
  };
  const { headers } = await page.call('GET', '/kubernetes/api/v1/namespaces/a/pods/b/proxy/', {
    headers: jane.headers,
  });
  expect(headers).toMatchObject({
    'content-type': 'text/html',
    'audit-id': 'a1',
    'cache-control': 'no-store',
    'content-security-policy': expect.stringContaining('sandbox'),
    'x-frame-options': 'DENY',
  });
  for (const name of [
    'set-cookie',
    'access-control-allow-origin',
    'clear-site-data',
    'service-worker-allowed',
    'location',
  ])
    expect([name, headers[name]]).toEqual([name, undefined]);
});

test('a watch arrives event by event, and ends at the API server when the page leaves', async () => {
  const { page, jane } = await signedIn();
  const gone = Promise.withResolvers<void>();
  const more = Promise.withResolvers<() => void>();
  api.serve = (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.write('{"type":"ADDED"}\n');
    more.resolve(() => res.write('{"type":"MODIFIED"}\n'));
    res.once('close', () => gone.resolve());
  };
  const request = http.get({
    host: '127.0.0.1',
    port: page.port,
    path: '/kubernetes/api?watch=1',
    headers: jane.headers,
  });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.setEncoding('utf8');
  expect(await once(response, 'data')).toEqual(['{"type":"ADDED"}\n']);
  (await more.promise)();
  expect(await once(response, 'data')).toEqual(['{"type":"MODIFIED"}\n']);
  request.destroy();
  await gone.promise;
});

test('a page that does not read stops the API server: nothing is kept for it', async () => {
  const { page, jane } = await signedIn();
  const full = Promise.withResolvers<number>();
  api.serve = (_req, res) => {
    const block = Buffer.alloc(1 << 20);
    let sent = 0;
    const write = (): void => {
      while (res.write(block)) sent += block.length;
      full.resolve(sent);
    };
    res.on('drain', write);
    write();
  };
  const request = http.get({ host: '127.0.0.1', port: page.port, path: '/kubernetes/logs', headers: jane.headers });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.pause();
  // The buffers of the kernel are a few MiB.
  expect(await full.promise).toBeLessThan(64 << 20);
  request.destroy();
});

test('a body reaches the API server while it is sent, and its early response the page', async () => {
  const { page, jane } = await signedIn();
  const begun = Promise.withResolvers<string>();
  api.serve = (req, res) => {
    req.once('data', (part: Buffer) => {
      begun.resolve(part.toString());
      res.writeHead(413, { 'content-type': 'text/plain' }).end('too large');
    });
  };
  const options = { host: '127.0.0.1', port: page.port, path: '/kubernetes/x', method: 'POST', headers: jane.headers };
  const request = http.request(options).on('error', () => undefined);
  request.write('first part');
  expect(await begun.promise).toBe('first part');
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(413);
  expect(await response.setEncoding('utf8').toArray()).toEqual(['too large']);
  request.destroy();
});

test('a kept connection that the API server has closed is no failure of a read', async () => {
  const { page, jane } = await signedIn();
  let requests = 0;
  api.serve = (req, res) => {
    requests += 1;
    if (requests === 2) req.socket.destroy();
    else res.end('{}');
  };
  const codes = [];
  for (let i = 0; i < 3; i++) codes.push((await page.call('GET', '/kubernetes/api', { headers: jane.headers })).code);
  expect([codes, requests]).toEqual([[200, 200, 200], 4]);
});

test('a write is not sent twice', async () => {
  const { page, jane } = await signedIn();
  let requests = 0;
  api.serve = (req, res) => {
    requests += 1;
    if (requests === 2) req.socket.destroy();
    else req.resume().on('end', () => res.end('{}'));
  };
  const post = () => page.call('POST', '/kubernetes/api', { headers: jane.headers, body: '{}' });
  expect([(await post()).code, (await post()).code, requests]).toEqual([200, 503, 2]);
});

/** A WebSocket of a page. */
function connect(page: TestConsole, headers: Record<string, string>, protocols: string[] = []): WebSocket {
  return new WebSocket(`ws://127.0.0.1:${page.port}/kubernetes/api/v1/exec`, protocols, { headers });
}

/** The response's code of a WebSocket that was refused. */
async function refusal(socket: WebSocket): Promise<number> {
  socket.on('error', () => undefined);
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  return response.statusCode ?? 0;
}

function serveWebSockets(serve: (socket: WebSocket, req: IncomingMessage) => void): void {
  const server = new WebSocketServer({ noServer: true, handleProtocols: (offered) => [...offered].at(-1) ?? false });
  api.upgrade = (req, socket, head) => server.handleUpgrade(req, socket, head, (ws) => serve(ws, req));
}

test('a WebSocket is passed on with its subprotocol, but not with a token of another user', async () => {
  const { page, jane } = await signedIn();
  let seen: IncomingMessage['headers'] = {};
  serveWebSockets((ws, req) => {
    seen = req.headers;
    ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary }));
  });
  const token = `base64url.bearer.authorization.k8s.io.${Buffer.from('token-root').toString('base64url')}`;
  const { cookie } = jane;
  const socket = connect(page, { cookie, origin: page.origin, authorization: 'Bearer token-root' }, [
    token,
    'v4.channel.k8s.io',
    'v5.channel.k8s.io',
  ]);
  await once(socket, 'open');
  expect(socket.protocol).toBe('v5.channel.k8s.io');
  expect(seen).toMatchObject({
    authorization: 'Bearer token-jane',
    'sec-websocket-protocol': 'v4.channel.k8s.io, v5.channel.k8s.io',
  });
  expect([seen.cookie, seen.origin]).toEqual([undefined, undefined]);
  const large = Buffer.alloc(3 << 20, 7);
  socket.send(large);
  const [echo] = (await once(socket, 'message')) as [Buffer];
  expect(Buffer.compare(echo, large)).toBe(0);
  socket.close();
  await once(socket, 'close');
});

test('a WebSocket of another page, or of nobody, is refused before the API server sees it', async () => {
  const { page, jane } = await signedIn();
  serveWebSockets(() => expect.unreachable('the API server was asked'));
  const { cookie } = jane;
  const { origin } = page;
  expect(await refusal(connect(page, { cookie }))).toBe(403);
  expect(await refusal(connect(page, { cookie, origin: 'http://evil.example' }))).toBe(403);
  expect(await refusal(connect(page, { cookie, origin: 'http://127.0.0.1:1' }))).toBe(403);
  expect(await refusal(connect(page, { cookie, origin, 'sec-fetch-site': 'same-site' }))).toBe(403);
  expect(await refusal(connect(page, { cookie, origin, host: 'evil.example' }))).toBe(421);
  expect(await refusal(connect(page, { origin }))).toBe(401);
});

test('what the API server says instead of switching reaches the page', async () => {
  const { page, jane } = await signedIn();
  api.upgrade = (_req, socket) => void socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno');
  expect(await refusal(connect(page, { cookie: jane.cookie, origin: page.origin }))).toBe(403);
});

test('who signs out loses open streams', async () => {
  const { page, jane } = await signedIn();
  const ended = Promise.withResolvers<void>();
  serveWebSockets((ws) => ws.on('close', () => ended.resolve()));
  const socket = connect(page, { cookie: jane.cookie, origin: page.origin });
  await once(socket, 'open');
  const closed = once(socket, 'close');
  expect((await page.call('DELETE', '/session', { headers: jane.headers })).code).toBe(204);
  await Promise.all([closed, ended.promise]);
});

test('a session has a limit of open streams', async () => {
  const { page, jane } = await signedIn();
  api.serve = (_req, res) => void res.writeHead(200).flushHeaders();
  const open = () => http.get({ host: '127.0.0.1', port: page.port, path: '/kubernetes/api', headers: jane.headers });
  const requests = Array.from({ length: 16 }, open);
  await Promise.all(requests.map((request) => once(request, 'response')));
  expect((await page.call('GET', '/kubernetes/api', { headers: jane.headers })).code).toBe(429);
  for (const request of requests) request.destroy();
  await expect.poll(() => page.call('GET', '/session', { headers: jane.headers }).then(({ code }) => code)).toBe(200);
});
