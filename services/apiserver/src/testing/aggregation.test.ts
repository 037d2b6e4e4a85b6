import { type ClientRequest, type ServerResponse, STATUS_CODES } from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { callServer, type CallOptions, type Reply } from './call-server.ts';
import { startApiServer, type TestApiServer } from './start-api-server.ts';
import { isKubernetesGroup } from '../endpoints/router/not-served.ts';
import { type ExtensionServer, startExtensionServer } from '../aggregation/testing/extension-server.ts';

const GROUP = 'wardle.example.com';
const ROOT = `/apis/${GROUP}/v1`;
const FLUNDERS = `${ROOT}/namespaces/default/flunders`;
const APISERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';
const SERVICES = '/api/v1/namespaces/default/services';
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
const WAIT = { timeout: 60_000, interval: 20 };

type Items = { readonly metadata: { readonly name: string }; readonly versions: readonly unknown[] }[];

let server: TestApiServer;
let extension: ExtensionServer;

const call = (method: string, path: string, body?: object, options: CallOptions = {}): Promise<Reply> =>
  callServer(server, method, path, {
    ...options,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json', ...options.headers },
  });

/** The last request for a path. Health requests may arrive at any time. */
const lastAsked = (path: string) => extension.asked.findLast(({ url }) => url === path);

function part<T>({ json }: Reply, field: string): T {
  return json[field] as T;
}

async function made(path: string, object: object): Promise<void> {
  const { code, bytes } = await call('POST', path, object);
  if (code !== 201) expect.fail(`${path}: ${code} ${bytes.toString()}`);
}

function service(name: string, port = 443): object {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { ports: [{ port, name: 'https' }] } };
}

/** A Service of type ExternalName for localhost, since endpoints must not have loopback addresses. */
function loopback(name: string): object {
  const spec = { type: 'ExternalName', externalName: 'localhost' };
  return { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec };
}

function slice(name: string, portName: string): object {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: true } }],
    ports: [{ name: portName, port: 1 }],
  };
}

function apiService(group: string, name: string, spec: object = {}, port = 443): object {
  return {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: `v1.${group}` },
    spec: {
      group,
      version: 'v1',
      groupPriorityMinimum: 2000,
      versionPriority: 200,
      service: { namespace: 'default', name, port },
      ...spec,
    },
  };
}

async function condition(group: string): Promise<{ status: string; reason: string; message: string } | undefined> {
  const reply = await call('GET', `${APISERVICES}/v1.${group}`);
  const status = part<{ conditions?: { status: string; reason: string; message: string }[] } | undefined>(
    reply,
    'status',
  );
  return status?.conditions?.[0];
}

const becomes = (group: string, wanted: object): Promise<void> =>
  vi.waitFor(async () => expect(await condition(group)).toMatchObject(wanted), WAIT);

beforeAll(async () => {
  server = await startApiServer();
  const config = await vi.waitFor(async () => {
    const reply = await call('GET', '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication');
    expect(reply.code).toBe(200);
    return part<Record<string, string>>(reply, 'data');
  }, WAIT);
  expect(config['client-ca-file']).toBe(server.pki.ca);
  expect(config['requestheader-allowed-names']).toBe('["front-proxy-client"]');
  expect(config['requestheader-uid-headers']).toBe('["X-Remote-Uid"]');
  const tls = await server.pki.issue('wardle', [], ['wardle.default.svc']);
  extension = await startExtensionServer(tls, config['requestheader-client-ca-file'] ?? '');
  const caBundle = Buffer.from(server.pki.ca).toString('base64');
  await made(SERVICES, loopback('wardle'));
  await made(APISERVICES, apiService(GROUP, 'wardle', { caBundle }, extension.port));
  await becomes(GROUP, { status: 'True', reason: 'Passed', message: 'all checks passed' });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

describe('an aggregated API', () => {
  it('is asked with the certificate of the front proxy, and the word of who asks', async () => {
    extension.routes.set(`${FLUNDERS}/a`, (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'x-own': 'kept', 'audit-id': 'its' });
      response.end('{"kind":"Flunder"}');
    });
    const headers = {
      'x-remote-user': 'forged',
      'x-remote-group': 'forged',
      'x-remote-extra-forged': 'x',
      'x-kept': 'y',
    };
    const reply = await call('PUT', `${FLUNDERS}/a?pretty=0&fieldManager=m`, { n: 1 }, { headers });
    expect(reply.code).toBe(200);
    expect(reply.json).toEqual({ kind: 'Flunder' });
    expect(reply.headers['x-own']).toBe('kept');
    const asked = extension.asked.findLast(({ method }) => method === 'PUT');
    expect(asked).toMatchObject({
      url: `${FLUNDERS}/a?pretty=0&fieldManager=m`,
      shown: 'front-proxy-client',
      body: '{"n":1}',
      headers: { 'x-remote-user': 'kubernetes-admin', 'x-kept': 'y', 'x-forwarded-for': '127.0.0.1' },
    });
    expect(asked?.headers['x-remote-group']).toBe('system:masters, system:authenticated');
    expect(asked?.headers).not.toHaveProperty('x-remote-extra-forged');
    expect(asked?.headers).not.toHaveProperty('authorization');
    expect(reply.headers['audit-id']).toBe(asked?.headers['audit-id']);
  });

  it('passes impersonation on as the user, and authorises by the form of the path', async () => {
    const headers = { 'impersonate-user': 'jane', 'impersonate-group': 'devs', 'impersonate-extra-scopes': 'view' };
    const refused = await call('GET', `${FLUNDERS}/a`, undefined, { headers });
    expect(refused.code).toBe(403);
    expect(refused.json['message']).toBe(
      `flunders.${GROUP} "a" is forbidden: User "jane" cannot get resource "flunders" in API group "${GROUP}" in the namespace "default"`,
    );
    await made('/apis/rbac.authorization.k8s.io/v1/clusterroles', {
      metadata: { name: 'fishers' },
      rules: [{ apiGroups: [GROUP], resources: ['flunders'], verbs: ['get'] }],
    });
    await made('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: 'fishers' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'fishers' },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'jane' }],
    });
    await vi.waitFor(async () => {
      expect((await call('GET', `${FLUNDERS}/a`, undefined, { headers })).code).toBe(200);
    }, WAIT);
    const sent = lastAsked(`${FLUNDERS}/a`)?.headers ?? {};
    expect(sent).toMatchObject({ 'x-remote-user': 'jane', 'x-remote-extra-scopes': 'view' });
    expect(sent).not.toHaveProperty('impersonate-user');
  });

  it('streams watches as they come', async () => {
    const gate = Promise.withResolvers<void>();
    extension.routes.set(FLUNDERS, (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"type":"ADDED"}\n');
      void gate.promise.then(() => response.end('{"type":"DELETED"}\n'));
    });
    const request = ask('GET', `${FLUNDERS}?watch=true`);
    const parts: string[] = [];
    await new Promise<void>((done, fail) => {
      request.on('error', fail);
      request.on('response', (response) => {
        response.on('data', (part: Buffer) => {
          parts.push(part.toString());
          gate.resolve();
        });
        response.on('end', done);
      });
      request.end();
    });
    expect(parts).toEqual(['{"type":"ADDED"}\n', '{"type":"DELETED"}\n']);
  });

  it('may change the protocol of a connection', async () => {
    const request = ask('GET', `${FLUNDERS}/a/exec`, { connection: 'Upgrade', upgrade: 'echo' });
    const { promise, resolve, reject } = Promise.withResolvers<Socket>();
    request.on('error', reject);
    request.on('response', ({ statusCode = 0 }) =>
      reject(new Error(`${statusCode} ${STATUS_CODES[statusCode] ?? ''}`)),
    );
    request.on('upgrade', (response, socket: Socket) => {
      expect(response.statusCode).toBe(101);
      resolve(socket);
    });
    request.end();
    const socket = await promise;
    const echoed = new Promise<string>((done) => socket.once('data', (data: Buffer) => done(data.toString())));
    socket.write('hello');
    expect(await echoed).toBe('hello');
    expect(extension.asked.findLast(({ method }) => method === 'UPGRADE')?.headers['x-remote-user']).toBe(
      'kubernetes-admin',
    );
    socket.destroy();
  });

  it('is listed in discovery and OpenAPI', async () => {
    const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    await vi.waitFor(async () => {
      const items = part<Items>(await call('GET', '/apis', undefined, { headers: { accept: aggregated } }), 'items');
      const names = items.map(({ metadata }) => metadata.name);
      expect(names[0]).toBe('apiregistration.k8s.io');
      expect(names.filter((name) => name === GROUP || isKubernetesGroup(name)).at(-1)).toBe(GROUP);
      expect(items.find(({ metadata }) => metadata.name === GROUP)?.versions).toEqual([
        {
          version: 'v1',
          freshness: 'Current',
          resources: [
            {
              resource: 'flunders',
              responseKind: { group: '', version: '', kind: 'Flunder' },
              scope: 'Namespaced',
              singularResource: 'flunder',
              verbs: ['create', 'get', 'list'],
              subresources: [
                {
                  subresource: 'status',
                  responseKind: { group: '', version: '', kind: 'Flunder' },
                  verbs: ['get', 'update'],
                },
              ],
            },
          ],
        },
      ]);
    }, WAIT);
    const group = { name: GROUP, versions: [{ groupVersion: `${GROUP}/v1`, version: 'v1' }] };
    const groups = part<readonly { readonly name: string }[]>(await call('GET', '/apis'), 'groups');
    expect(groups.find(({ name }) => name === GROUP)).toMatchObject(group);
    expect((await call('GET', `/apis/${GROUP}`)).json).toMatchObject({ kind: 'APIGroup', ...group });
    const { json: list } = await call('GET', ROOT);
    expect(list).toMatchObject({ kind: 'APIResourceList', groupVersion: `${GROUP}/v1` });
    const paths = part<Record<string, { serverRelativeURL: string }>>(await call('GET', '/openapi/v3'), 'paths');
    const document = await call('GET', paths[`apis/${GROUP}/v1`]?.serverRelativeURL ?? '');
    const named = `${FLUNDERS.replace('default', '{namespace}')}/{name}`;
    expect(Object.keys(part<object>(document, 'paths'))).toEqual([named]);
    const two = await call('GET', '/openapi/v2');
    expect(two.json['definitions']).toMatchObject({ 'com.example.wardle.v1.Flunder': { description: 'A fish.' } });
    expect(part<object>(two, 'paths')).toHaveProperty([named]);
    expect(part<object>(two, 'paths')).not.toHaveProperty(['/healthz']);
  });

  it('is asked for clients of HTTP/2, too', async () => {
    const { cert, key } = server.admin;
    const session = http2.connect(server.url, { ca: server.pki.ca, cert, key });
    const stream = session.request({ ':path': `${FLUNDERS}/a`, ':method': 'POST' });
    stream.end('{"of":2}');
    let text = '';
    for await (const part of stream.setEncoding('utf8')) text += part as string;
    session.close();
    expect(text).toBe('{"kind":"Flunder"}');
    expect(lastAsked(`${FLUNDERS}/a`)).toMatchObject({ method: 'POST', body: '{"of":2}' });
  });

  it('may not lead clients elsewhere', async () => {
    extension.routes.set(`${FLUNDERS}/b`, (_, response) => response.writeHead(302, { location: '/api' }).end());
    const reply = await call('GET', `${FLUNDERS}/b`);
    const text = 'the backend attempted to redirect this request, which is not permitted';
    expect([reply.code, reply.bytes.toString()]).toEqual([502, text]);
  });

  it('does not fail because the server has closed a connection that was kept', async () => {
    for (let i = 0; i < 3; i++) {
      expect((await call('GET', `${FLUNDERS}/a`)).code).toBe(200);
      extension.closeConnections();
    }
  });

  it('is text when it fails', async () => {
    await extension[Symbol.asyncDispose]();
    const reply = await call('GET', `${FLUNDERS}/a`);
    expect(reply.code).toBe(503);
    expect(reply.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(reply.bytes.toString()).toBe(
      `error trying to reach service: dial tcp localhost:${extension.port}: connect: connection refused\n`,
    );
  });
});

describe('the availability of an API', () => {
  const tables = [
    ['nothing', undefined, undefined, { reason: 'ServiceNotFound', message: 'service/s1 in "default" is not present' }],
    [
      's2',
      8443,
      undefined,
      { reason: 'ServicePortError', message: 'service/s2 in "default" is not listening on port 443' },
    ],
    [
      's3',
      443,
      undefined,
      { reason: 'EndpointsNotFound', message: 'cannot find endpointslices for service/s3 in "default"' },
    ],
    [
      's4',
      443,
      slice('s4', 'http'),
      {
        reason: 'MissingEndpoints',
        message: 'endpointslices for service/s4 in "default" have no addresses with port name "https"',
      },
    ],
  ] as const;

  it.each(tables)('reports %s', async (_, port, endpoints, wanted) => {
    const name = `s${tables.findIndex(([, , , one]) => one === wanted) + 1}`;
    if (port !== undefined) await made(SERVICES, service(name, port));
    if (endpoints !== undefined) await made(SLICES, endpoints);
    await made(APISERVICES, apiService(`${name}.example.com`, name, { insecureSkipTLSVerify: true }));
    await becomes(`${name}.example.com`, { status: 'False', ...wanted });
    const reply = await call('GET', `/apis/${name}.example.com/v1/things`);
    expect([reply.code, reply.bytes.toString()]).toEqual([503, 'service unavailable\n']);
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const items = part<Items>(await call('GET', '/apis', undefined, { headers: { accept } }), 'items');
    const item = items.find(({ metadata }) => metadata.name === `${name}.example.com`);
    expect(item?.versions).toEqual([{ version: 'v1', freshness: 'Stale' }]);
  });

  it('does not believe a server that cannot prove its name', async () => {
    const other = await server.pki.issue('other', [], ['other.default.svc']);
    await using imposter = await startExtensionServer(other, server.pki.ca);
    imposter.routes.set('/apis/s6.example.com/v1', (_, response) => response.end('{}'));
    await made(SERVICES, loopback('s6'));
    const caBundle = Buffer.from(server.pki.ca).toString('base64');
    await made(APISERVICES, apiService('s6.example.com', 's6', { caBundle }, imposter.port));
    await becomes('s6.example.com', { status: 'False', reason: 'FailedDiscoveryCheck' });
    expect((await condition('s6.example.com'))?.message).toContain('certificate is not valid for s6.default.svc');
    const insecure = { spec: { caBundle: null, insecureSkipTLSVerify: true } };
    const headers = { 'content-type': 'application/merge-patch+json' };
    await call('PATCH', `${APISERVICES}/v1.s6.example.com`, insecure, { headers });
    await becomes('s6.example.com', { status: 'True', reason: 'Passed' });
  });

  const many = (count: number) =>
    JSON.stringify({ resources: Array.from({ length: count }, (_, i) => ({ name: `r${i}` })) });
  it.each([
    ['resources', 's9', 'v1', many(1001), 'the discovery document has more than 1000 resources and subresources'],
    [
      'values',
      's10',
      'v1',
      many(50_000),
      'the discovery document is too large: Request entity too large: limit is 100000 values',
    ],
    [
      'bytes of resources',
      's11',
      'v1',
      ' '.repeat(2 ** 21 + 1),
      'the document at /apis/s11.example.com/v1 has more than 2097152 bytes',
    ],
    [
      'bytes of OpenAPI',
      's12',
      'openapi',
      ' '.repeat(2 ** 23 + 1),
      'the document at /openapi/v3/apis/s12.example.com/v1 has more than 8388608 bytes',
    ],
    [
      'bytes of a schema',
      's13',
      'openapi',
      JSON.stringify({ paths: {}, components: { schemas: { a: 'x'.repeat(300_000) } } }),
      'the OpenAPI document has more than 262144 bytes for "a"',
    ],
  ])('is false while documents have too many %s', async (_, name, which, text, message) => {
    const group = `${name}.example.com`;
    const tls = await server.pki.issue(name, [], [`${name}.default.svc`]);
    await using large = await startExtensionServer(tls, server.pki.ca);
    const reply = (body: string) => (_request: unknown, response: ServerResponse) => response.end(body);
    large.routes.set(`/apis/${group}/v1`, reply(which === 'v1' ? text : '{}'));
    if (which !== 'v1') large.routes.set(`/openapi/v3/apis/${group}/v1`, reply(text));
    await made(SERVICES, loopback(name));
    const caBundle = Buffer.from(server.pki.ca).toString('base64');
    await made(APISERVICES, apiService(group, name, { caBundle }, large.port));
    const isInDiscovery = which === 'v1' && text.startsWith(' ');
    await becomes(group, {
      status: 'False',
      reason: isInDiscovery ? 'FailedDiscoveryCheck' : 'DocumentsTooLarge',
      message,
    });
    expect((await call('GET', `/apis/${group}/v1/things`)).code).toBe(503);
    large.routes.set(`/apis/${group}/v1`, reply('{}'));
    large.routes.delete(`/openapi/v3/apis/${group}/v1`);
    await becomes(group, { status: 'True', reason: 'Passed' });
    await call('DELETE', `${APISERVICES}/v1.${group}`);
  });

  it('is false while the server switches the protocol of the connection', async () => {
    const tls = await server.pki.issue('s14', [], ['s14.default.svc']);
    await using odd = await startExtensionServer(tls, server.pki.ca);
    const path = '/apis/s14.example.com/v1';
    odd.routes.set(path, ({ socket }) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    });
    await made(SERVICES, loopback('s14'));
    const caBundle = Buffer.from(server.pki.ca).toString('base64');
    await made(APISERVICES, apiService('s14.example.com', 's14', { caBundle }, odd.port));
    await becomes('s14.example.com', { status: 'False', reason: 'FailedDiscoveryCheck' });
    expect((await condition('s14.example.com'))?.message).toMatch(/bad status from .*: 101$/);
    odd.routes.set(path, (_, response) => response.end('{}'));
    await becomes('s14.example.com', { status: 'True', reason: 'Passed' });
  });

  it('reports invalid certificates', async () => {
    await made(SERVICES, loopback('s8'));
    await made(APISERVICES, apiService('s8.example.com', 's8', { caBundle: Buffer.from('none').toString('base64') }));
    await becomes('s8.example.com', { status: 'False', reason: 'FailedDiscoveryCheck' });
    expect((await call('GET', '/apis/s8.example.com/v1/things')).code).toBe(503);
  });

  it('takes Endpoints for slices while there are none', async () => {
    await made(SERVICES, service('s7'));
    const subsets = [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ name: 'other', port: 1 }] }];
    await made('/api/v1/namespaces/default/endpoints', { metadata: { name: 's7' }, subsets });
    await made(APISERVICES, apiService('s7.example.com', 's7'));
    await becomes('s7.example.com', { reason: 'MissingEndpoints' });
  });

  it('follows the service, and ends with the APIService', async () => {
    await made(SERVICES, service('s1'));
    await becomes('s1.example.com', { reason: 'EndpointsNotFound' });
    await call('DELETE', `${APISERVICES}/v1.s1.example.com`);
    await vi.waitFor(async () => {
      const reply = await call('GET', '/apis/s1.example.com/v1/things');
      expect([reply.code, reply.bytes.toString()]).toEqual([404, '404 page not found\n']);
    }, WAIT);
  });
});

describe('the registration of APIs', () => {
  it('follows custom resources, and leaves what is served here alone', async () => {
    const version = { schema: { openAPIV3Schema: { type: 'object' } } };
    await made('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: 'pikes.fish.example.com' },
      spec: {
        group: 'fish.example.com',
        scope: 'Namespaced',
        names: { plural: 'pikes', kind: 'Pike' },
        versions: [
          { name: 'v1', served: true, storage: true, ...version },
          { name: 'v2', served: false, storage: false, ...version },
        ],
      },
    });
    const at = (name: string): Promise<Reply> => call('GET', `${APISERVICES}/${name}`);
    await vi.waitFor(async () => {
      const { json } = await at('v1.fish.example.com');
      expect(json).toMatchObject({
        metadata: { labels: { 'kube-aggregator.kubernetes.io/automanaged': 'true' } },
        spec: { group: 'fish.example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 100 },
        status: { conditions: [{ type: 'Available', status: 'True', reason: 'Local' }] },
      });
    }, WAIT);
    expect((await at('v2.fish.example.com')).code).toBe(404);
    await call('DELETE', `${APISERVICES}/v1.fish.example.com`);
    await vi.waitFor(async () => expect((await at('v1.fish.example.com')).code).toBe(200), WAIT);
    await call('DELETE', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/pikes.fish.example.com');
    await vi.waitFor(async () => expect((await at('v1.fish.example.com')).code).toBe(404), WAIT);
    expect((await at('v1.apps')).json['metadata']).toMatchObject({
      labels: { 'kube-aggregator.kubernetes.io/automanaged': 'onstart' },
    });
  });
});

function ask(method: string, path: string, headers: Record<string, string> = {}): ClientRequest {
  const { cert, key } = server.admin;
  return https.request({
    host: '127.0.0.1',
    port: server.restPort,
    path,
    method,
    ca: server.pki.ca,
    cert,
    key,
    agent: false,
    headers,
  });
}
