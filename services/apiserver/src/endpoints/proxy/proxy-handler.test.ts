import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { ResourceDefinition } from '@gantry/apimachinery';
import { findResource } from '@gantry/kinds';
import { type KubeObject, StatusError } from '@gantry/objects';
import { must, systemClock } from '@gantry/base';
import { fixedTls } from '@gantry/tls';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { UNLOGGED } from '../../audit/index.ts';
import type { Registry } from '../../registry/index.ts';
import { parseRoute } from '../request-info.ts';
import { ResourceRegistry } from '../../resource-registry.ts';
import { sendStatus } from '../../http/respond.ts';
import { Turns } from '../../turns.ts';
import { createProxyHandler } from './proxy-handler.ts';
import { offerUpgrade } from '@gantry/streams';

const DEFINITIONS = ['pods', 'services', 'endpoints', 'nodes'].map((resource) =>
  must(findResource({ group: '', version: 'v1', resource }), resource),
);
const NAMESPACE = '/api/v1/namespaces/n';

/** All objects, by resource and name. */
const objects = new Map<string, object>();
const connected: string[] = [];

const registry = {
  connect: (
    _: unknown,
    target: { definition: ResourceDefinition; name: string },
    verb: string,
    options: KubeObject,
  ) => {
    const { path = '' } = options as unknown as { path?: string };
    connected.push(`${verb} ${target.definition.resource} ${target.name} ${path}`);
    return Promise.resolve();
  },
  get: (_: unknown, { definition, name }: { definition: ResourceDefinition; name: string }) => {
    const object = objects.get(`${definition.resource}/${name}`);
    if (object === undefined) return Promise.reject(StatusError.notFound(definition, name));
    return Promise.resolve({ object });
  },
} as unknown as Registry;

type Handle = (incoming: IncomingMessage, response: ServerResponse) => void;

async function listening(handle: Handle): Promise<Server> {
  const server = createServer(handle);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return server;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

let backend: Server;
let front: Server;
let answer: Handle;

beforeAll(async () => {
  const random = () => 0;
  const tls = fixedTls({ ca: Buffer.from(''), cert: Buffer.from(''), key: Buffer.from('') });
  const mayReach = (address: string): boolean => !address.startsWith('127.9.');
  const resolve = (host: string) =>
    host === 'near' ? Promise.resolve(['127.0.0.1', '127.9.0.1']) : Promise.reject(new Error('no such host'));
  const handler = createProxyHandler({ registry, tls, random, mayReach, resolve, turns: new Turns(systemClock) });
  const resourceRegistry = new ResourceRegistry(DEFINITIONS);
  const serve: Handle = (req, res) => {
    const url = new URL(req.url ?? '/', 'http://front');
    const gone = new AbortController();
    res.once('close', () => gone.abort());
    const user = { name: 'jane', uid: '', groups: [], extra: {} };
    const path = decodeURIComponent((req.url ?? '/').replace(/\?.*$/, ''));
    const about = { method: req.method ?? '', path, query: url.searchParams, user, signal: gone.signal };
    const exchange = {
      req,
      res,
      ...about,
      warnings: new Set<string>(),
      attributes: { kind: 'path', verb: 'get', path } as const,
      begun: () => undefined,
      audit: UNLOGGED,
      onBody: () => undefined,
      keptBytes: () => 0,
    };
    const route = parseRoute(exchange, resourceRegistry);
    if (route.kind !== 'resource') {
      res.writeHead(404).end();
      return;
    }
    handler(exchange, route).catch((error: unknown) => {
      if (!(error instanceof StatusError)) throw error;
      return sendStatus(exchange, error.toStatus(), error.code);
    });
  };
  front = await listening(serve);
  front.on('upgrade', (req: IncomingMessage, socket: Socket, head: Buffer) => {
    serve(req, offerUpgrade(req, socket, head));
  });
  backend = await listening((req, res) => answer(req, res));
  backend.on('upgrade', (_, socket: Socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
    socket.pipe(socket);
  });
});

afterAll(() => {
  for (const server of [front, backend]) {
    server.close();
    server.closeAllConnections();
  }
});

beforeEach(() => {
  objects.clear();
  connected.length = 0;
  const port = portOf(backend);
  const status = { podIPs: [{ ip: '127.0.0.1' }] };
  objects.set('pods/p', {
    metadata: { name: 'p' },
    spec: { containers: [{ ports: [{ containerPort: port }] }] },
    status,
  });
  objects.set('services/s', { metadata: { name: 's' }, spec: { ports: [{ name: 'web', port: 80 }] } });
  const address = { ip: '127.0.0.1', targetRef: { kind: 'Pod', namespace: 'n', name: 'p' } };
  objects.set('endpoints/s', { subsets: [{ addresses: [address], ports: [{ name: 'web', port }] }] });
  answer = (req, res) => res.end(`${req.method ?? ''} ${req.url ?? ''}`);
});

interface Told {
  readonly code: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  readonly bytes: Buffer;
}

function ask(
  method: string,
  path: string,
  body = '',
  headers: Record<string, string> = {},
  onPart: () => void = () => undefined,
): Promise<Told> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port: portOf(front), method, path, headers, agent: false },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => {
          parts.push(part);
          onPart();
        });
        response.on('end', () => {
          const bytes = Buffer.concat(parts);
          resolve({ code: response.statusCode ?? 0, headers: response.headers, text: bytes.toString(), bytes });
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

const messageOf = ({ code, text }: Told): string => `${code} ${(JSON.parse(text) as { message: string }).message}`;

describe('a proxy', () => {
  it.each([
    ['GET', 'pods/p/proxy/', 'GET /', 'get pods p /'],
    ['GET', 'pods/p/proxy/a/b?c=d', 'GET /a/b?c=d', 'get pods p /a/b'],
    ['GET', 'pods/p/proxy/a/../b//c/', 'GET /b/c/', 'get pods p /b/c/'],
    ['GET', 'pods/p/proxy/a%20b%3Fc', 'GET /a%20b%3Fc', 'get pods p /a b?c'],
    ['DELETE', 'services/s:web/proxy/x', 'DELETE /x', 'delete services s:web /x'],
    ['PATCH', 'services/http:s:80/proxy/x', 'PATCH /x', 'patch services http:s:80 /x'],
    ['OPTIONS', 'services/s:web/proxy/x', 'OPTIONS /x', ' services s:web /x'],
    ['POST', 'services/s:web/proxy', 'POST /', 'create services s:web '],
  ])('passes %s %s on', async (method, path, text, admitted) => {
    expect(await ask(method, `${NAMESPACE}/${path}`)).toMatchObject({ code: 200, text });
    expect(connected).toEqual([admitted]);
  });

  it('passes bodies and headers on, but not what the server has acted on', async () => {
    answer = (req, res) => {
      let body = '';
      req.on('data', (part: Buffer) => (body += part.toString()));
      req.on('end', () => {
        res.writeHead(201, { 'x-own': 'y', 'access-control-allow-origin': '*' });
        res.end(JSON.stringify({ body, headers: req.headers }));
      });
    };
    const headers = { authorization: 'Bearer secret', 'x-mine': 'z', 'impersonate-user': 'root' };
    const reply = await ask('PUT', `${NAMESPACE}/pods/p/proxy/a`, 'hello', headers);
    expect(reply.code).toBe(201);
    expect(reply.headers['x-own']).toBe('y');
    expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
    const sent = JSON.parse(reply.text) as { body: string; headers: Record<string, string> };
    expect(sent.body).toBe('hello');
    expect(sent.headers).toMatchObject({ 'x-mine': 'z', 'x-forwarded-uri': `${NAMESPACE}/pods/p/proxy/a` });
    expect(Object.keys(sent.headers)).not.toContain('authorization');
    expect(Object.keys(sent.headers)).not.toContain('impersonate-user');
  });

  it('leads to the root of what is behind it', async () => {
    const reply = await ask('GET', `${NAMESPACE}/pods/p/proxy?a=b`);
    expect([reply.code, reply.headers.location]).toEqual([301, `${NAMESPACE}/pods/p/proxy/?a=b`]);
  });

  it('keeps those who follow links behind it', async () => {
    const root = `${NAMESPACE}/pods/p/proxy`;
    const page =
      '<a href="/x?y=1&amp;z">x</a><a href=rel>r</a><a href="https://else.org/q">e</a><!-- <a href="/c"> -->';
    const rewritten = `<a href="${root}/x?y=1&amp;z">x</a><a href="rel">r</a><a href="https://else.org/q">e</a><!-- <a href="/c"> -->`;
    answer = (req, res) => {
      if (req.url === '/moved') res.writeHead(302, { location: '/there/' }).end();
      else if (req.url === '/packed') {
        res.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' }).end(gzipSync(page));
      } else res.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page);
    };
    expect((await ask('GET', `${root}/moved`)).headers.location).toBe(`${root}/there/`);
    expect((await ask('GET', `${root}/page`)).text).toBe(rewritten);
    expect((await ask('GET', `${root}/packed`)).text).toBe(rewritten);
  });

  it.each([
    [
      'that is large when it is decompressed',
      gzipSync(Buffer.concat([randomBytes(200_000), Buffer.alloc(8 * 1024 * 1024)])),
    ],
    ['that grows much', gzipSync('<a href="/x">'.repeat(100_000))],
    ['that is large', gzipSync(randomBytes(2 * 1024 * 1024))],
  ])('passes a compressed page on unchanged %s', async (_, page) => {
    answer = (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip', 'content-length': page.length });
      res.end(page);
    };
    const reply = await ask('GET', `${NAMESPACE}/pods/p/proxy/page`);
    expect(reply.headers).toMatchObject({ 'content-encoding': 'gzip', 'content-length': String(page.length) });
    expect(reply.bytes.equals(page)).toBe(true);
  });

  it('keeps a limited number of compressed pages of a user in memory, and passes further ones on unchanged', async () => {
    const root = `${NAMESPACE}/pods/p/proxy`;
    const page = gzipSync('<a href="/x">');
    const slow: ServerResponse[] = [];
    answer = (req, res) => {
      res.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' });
      if (req.url === '/page') res.end(page);
      else if (slow.push(res) > 0) res.write(page.subarray(0, 1));
    };
    const isRewritten = async () => (await ask('GET', `${root}/page`)).headers['content-encoding'] === undefined;
    const waiting = Array.from({ length: 32 }, () => ask('GET', `${root}/slow`));
    while (await isRewritten());
    for (const res of slow) res.end(page.subarray(1));
    for (const reply of await Promise.all(waiting)) expect(reply.text).toBe(`<a href="${root}/x">`);
    while (!(await isRewritten()));
  });

  it('says why a compressed page cannot be read', async () => {
    answer = (_req, res) => res.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' }).end('<p>');
    const reply = await ask('GET', `${NAMESPACE}/pods/p/proxy/page`);
    expect(messageOf(reply)).toBe('503 error trying to reach service: incorrect header check');
  });

  it('rewrites a page while it arrives', async () => {
    const half = '<p>x</p>'.repeat(10_000);
    const seen = Promise.withResolvers<void>();
    answer = (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/html' }).write(`<a href="/x">${half}`);
      void seen.promise.then(() => res.end('<a href="/y">'));
    };
    const root = `${NAMESPACE}/pods/p/proxy`;
    const reply = await ask('GET', `${root}/page`, '', {}, () => seen.resolve());
    expect(reply.text).toBe(`<a href="${root}/x">${half}<a href="${root}/y">`);
  });

  it('lets both sides change the protocol', async () => {
    const headers = { connection: 'Upgrade', upgrade: 'echo' };
    const sent = request({ host: '127.0.0.1', port: portOf(front), path: `${NAMESPACE}/pods/p/proxy/ws`, headers });
    const socket = await new Promise<Socket>((resolve, reject) => {
      sent.on('error', reject);
      sent.on('response', ({ statusCode }) => reject(new Error(String(statusCode))));
      sent.on('upgrade', (_, taken: Socket) => resolve(taken));
      sent.end();
    });
    const echoed = new Promise<string>((done) => socket.once('data', (data: Buffer) => done(data.toString())));
    socket.write('hello');
    expect(await echoed).toBe('hello');
    const closed = new Promise<void>((done) => socket.once('close', () => done()));
    socket.end();
    await closed;
  });
});

describe('a proxy to nothing', () => {
  const many = { subsets: [{ addresses: [{ ip: '127.0.0.1' }], ports: [{ name: 'web', port: 1 }] }] };
  it.each([
    ['pods/a:b:c:d/proxy/', {}, '400 invalid pod request "a:b:c:d"'],
    ['pods/ftp:p:1/proxy/', {}, '400 invalid pod request "ftp:p:1"'],
    ['pods/q/proxy/', {}, '404 pods "q" not found'],
    ['pods/q/proxy/', { 'pods/q': { spec: {}, status: {} } }, '400 address not allowed'],
    ['pods/q/proxy/', { 'pods/q': { spec: {}, status: { podIPs: [{ ip: '127.9.0.1' }] } } }, '400 address not allowed'],
    ['pods/p:99999/proxy/', {}, '503 error trying to reach service: dial tcp: address 99999: invalid port'],
    ['pods/p:1/proxy/', {}, '503 error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused'],
    ['services/s:81/proxy/', {}, '503 no service port 81 found for service "s"'],
    ['services/t/proxy/', {}, '404 endpoints "t" not found'],
    ['services/t:1/proxy/', {}, '404 services "t" not found'],
    ['services/t/proxy/', { 'endpoints/t': {} }, '503 no endpoints available for service "t"'],
    ['services/s:none/proxy/', {}, '503 no endpoints available for service "s:none"'],
    ['services/t:web/proxy/', { 'endpoints/t': many }, '503 no endpoints available for service "t:web"'],
    ['services/s:web/proxy/?dryRun=All', {}, '400 dryRun is not supported'],
  ])('says why: %s', async (path, present, message) => {
    for (const [name, object] of Object.entries(present)) objects.set(name, object);
    expect(messageOf(await ask('GET', `${NAMESPACE}/${path}`))).toBe(message);
  });

  it('says why of nodes', async () => {
    objects.set('nodes/m', { status: {} });
    objects.set('nodes/l', { status: { addresses: [{ type: 'InternalIP', address: '127.9.0.1' }] } });
    objects.set('nodes/j', { status: { addresses: [{ type: 'Hostname', address: 'far' }] } });
    objects.set('nodes/i', { status: { addresses: [{ type: 'Hostname', address: 'near' }] } });
    objects.set('nodes/k', { status: { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }] } });
    const told = async (path: string) => messageOf(await ask('GET', `/api/v1/nodes/${path}`));
    expect(await told('q/proxy/')).toBe('404 nodes "q" not found');
    expect(await told('m/proxy/')).toBe('503 no preferred addresses found; known addresses: []');
    expect(await told('l/proxy/')).toBe('400 address not allowed');
    expect(await told('j/proxy/')).toBe('400 lookup far: no such host');
    expect(await told('i/proxy/')).toBe('400 address not allowed');
    const reply = await ask('GET', `/api/v1/nodes/k:${portOf(backend)}/proxy/stats`);
    expect(reply).toMatchObject({ code: 200, text: 'GET /stats' });
  });
});
