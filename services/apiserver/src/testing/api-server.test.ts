import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import http2, { type ClientHttp2Session } from 'node:http2';
import https from 'node:https';
import { systemClock } from '@gantry/base';
import { decodeProtobuf, encodeProtobuf } from '@gantry/apimachinery';
import { createCertificateRequester } from '@gantry/client';
import type { KubeObject } from '@gantry/objects';
import * as x509 from '@peculiar/x509';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certificateRequestClient } from '../run-api-server.ts';
import { createLoopbackClient } from '../loopback-client.ts';
import { callServer, type CallOptions, type Reply } from './call-server.ts';
import { startApiServer, type TestApiServer } from './start-api-server.ts';
import { createTestPki } from './test-pki.ts';

let server: TestApiServer;

beforeAll(async () => {
  server = await startApiServer();
});

afterAll(async () => {
  await server.stop();
});

function call(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
  return callServer(server, method, path, options);
}

function configMap(name: string, data: Record<string, string> = {}): KubeObject & { data: Record<string, string> } {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data };
}

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';

describe('the REST endpoint', () => {
  it('takes and gives protobuf', async () => {
    const body = encodeProtobuf(configMap('proto', { a: 'b' }));
    const made = await call('POST', CONFIG_MAPS, { headers: { 'content-type': PROTOBUF, accept: PROTOBUF }, body });
    expect(made.code).toBe(201);
    expect(made.headers['content-type']).toBe(PROTOBUF);
    expect(decodeProtobuf(made.bytes)).toMatchObject({ kind: 'ConfigMap', data: { a: 'b' } });
    const list = await call('GET', CONFIG_MAPS, { headers: { accept: PROTOBUF } });
    expect(decodeProtobuf(list.bytes)).toMatchObject({ kind: 'ConfigMapList', items: [{ data: { a: 'b' } }] });
    const gone = await call('DELETE', `${CONFIG_MAPS}/proto`);
    expect(gone.json).toMatchObject({
      kind: 'Status',
      status: 'Success',
      details: { name: 'proto', kind: 'configmaps' },
    });
  });

  it('gives tables and metadata alone', async () => {
    await call('POST', CONFIG_MAPS, { body: JSON.stringify(configMap('shaped', { a: 'b' })) });
    const as = (kind: string): Record<string, string> => ({ accept: `application/json;as=${kind};v=v1;g=meta.k8s.io` });
    const table = await call('GET', `${CONFIG_MAPS}/shaped`, { headers: as('Table') });
    expect(table.json).toMatchObject({ kind: 'Table', rows: [{ cells: ['shaped', 1, expect.any(String)] }] });
    const partial = await call('GET', `${CONFIG_MAPS}/shaped`, { headers: as('PartialObjectMetadata') });
    expect(Object.keys(partial.json)).toEqual(['kind', 'apiVersion', 'metadata']);
    const list = await call('GET', CONFIG_MAPS, { headers: as('PartialObjectMetadataList') });
    expect(list.json).toMatchObject({ kind: 'PartialObjectMetadataList', items: [{ kind: 'PartialObjectMetadata' }] });
    await call('DELETE', `${CONFIG_MAPS}/shaped`);
  });

  it('compresses what is big, when asked', async () => {
    const big = configMap('big', { text: 'x'.repeat(200_000) });
    await call('POST', CONFIG_MAPS, { body: JSON.stringify(big) });
    const plain = await call('GET', CONFIG_MAPS);
    expect(plain.headers['content-encoding']).toBeUndefined();
    const packed = await call('GET', CONFIG_MAPS, { headers: { 'accept-encoding': 'gzip' } });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(packed.bytes.length).toBeLessThan(20_000);
    expect(packed.json).toEqual(plain.json);
    await call('DELETE', `${CONFIG_MAPS}/big`);
  });

  it('answers bad requests with 4xx and a Status', async () => {
    const codes = async (method: string, path: string, options?: CallOptions): Promise<unknown[]> => {
      const reply = await call(method, path, options);
      return [reply.code, reply.json.reason];
    };
    expect(await codes('GET', '/api/v1/%zz')).toEqual([400, 'BadRequest']);
    const tooBig = { body: Buffer.alloc(4_000_000) };
    expect(await codes('POST', CONFIG_MAPS, tooBig)).toEqual([413, 'RequestEntityTooLarge']);
    expect(await codes('POST', CONFIG_MAPS, { body: '{' })).toEqual([400, 'BadRequest']);
    expect(await codes('DELETE', `${CONFIG_MAPS}/x`, { body: '[]' })).toEqual([400, 'BadRequest']);
    expect(await codes('DELETE', `${CONFIG_MAPS}/x`, { body: '{"gracePeriodSeconds":"a"}' })).toEqual([
      400,
      'BadRequest',
    ]);
    expect(await codes('PATCH', `${CONFIG_MAPS}/x`, { body: '{}' })).toEqual([415, 'UnsupportedMediaType']);
    expect(await codes('GET', `${CONFIG_MAPS}?timeout=invalid`)).toEqual([400, 'BadRequest']);
    const untaken = { body: '{"metadata":{"name":"timeless"}}' };
    expect(await codes('POST', `${CONFIG_MAPS}?watch=true&timeout=invalid`, untaken)).toEqual([400, 'BadRequest']);
    expect(await codes('GET', `${CONFIG_MAPS}/x?watch=true&timeout=invalid`)).toEqual([400, 'BadRequest']);
    expect(await codes('GET', '/api/v1/namespaces/default/pods/none/log?timeout=invalid')).toEqual([404, 'NotFound']);
    expect(await codes('GET', `${CONFIG_MAPS}?limit=abc`)).toEqual([400, 'BadRequest']);
    expect(await codes('GET', `${CONFIG_MAPS}?watch=1&labelSelector=%3D`)).toEqual([400, 'BadRequest']);
  });

  it('serves discovery in every content type', async () => {
    const types = ['application/json', 'application/yaml', PROTOBUF];
    const aggregated = (type: string) => `${type};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`;
    for (const path of ['/api', '/apis', '/apis/apps', '/apis/apps/v1']) {
      for (const accept of types) {
        const { code, headers } = await call('GET', path, { headers: { accept } });
        expect([path, code, headers['content-type']]).toEqual([path, 200, accept]);
      }
    }
    for (const accept of types.map(aggregated)) {
      const { headers } = await call('GET', '/apis', { headers: { accept } });
      expect(headers['content-type']).toBe(accept);
    }
    expect(await call('GET', '/apis/apps/v1', { headers: { accept: 'text/html' } })).toMatchObject({ code: 406 });
  });

  it('serves discovery with entity tags', async () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
    const first = await call('GET', '/apis', { headers: { accept } });
    expect(first.headers['content-type']).toBe('application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList');
    const again = await call('GET', '/apis', { headers: { accept, 'if-none-match': first.headers.etag ?? '' } });
    expect(again.code).toBe(304);
    expect((await call('GET', '/version')).json).toMatchObject({ major: '1', minor: '36', gitVersion: 'v1.36.2' });
    expect((await call('GET', '/openapi/v2')).json).toMatchObject({ swagger: '2.0' });
  });
});

describe('authentication', () => {
  it('knows service accounts by their tokens as long as they exist', async () => {
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } };
    await call('POST', accounts, { body: JSON.stringify(account) });
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [] } };
    const made = await call('POST', `${accounts}/robot/token`, { body: JSON.stringify(request) });
    expect(made.code).toBe(201);
    const token = (made.json.status as unknown as { token: string }).token;
    const headers = { authorization: `Bearer ${token}` };
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const who = await call('POST', reviews, { as: 'anonymous', headers, body: JSON.stringify(review) });
    expect(who.json).toMatchObject({
      status: {
        userInfo: {
          username: 'system:serviceaccount:default:robot',
          groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
        },
      },
    });
    expect((await call('GET', '/apis', { as: 'anonymous', headers })).code).toBe(200);
    expect((await call('GET', '/api/v1/pods', { as: 'anonymous', headers })).code).toBe(403);
    const bent = { authorization: `Bearer ${token.slice(0, -6)}AAAAAA` };
    expect((await call('GET', '/apis', { as: 'anonymous', headers: bent })).code).toBe(401);
    await call('DELETE', `${accounts}/robot`);
    expect((await call('GET', '/apis', { as: 'anonymous', headers })).code).toBe(401);
  });

  it('authorises paths of resources that it does not serve as those of resources', async () => {
    const refusal = async (method: string, path: string): Promise<unknown> => {
      const { code, json } = await call(method, path, { as: 'anonymous' });
      return [code, json.message];
    };
    const anonymous = 'is forbidden: User "system:anonymous" cannot';
    expect(await refusal('GET', '/apis/none.example.com/v1/namespaces/a/things')).toEqual([
      403,
      `things.none.example.com ${anonymous} list resource "things" in API group "none.example.com" in the namespace "a"`,
    ]);
    expect(await refusal('POST', '/api/v1/namespaces/a/things')).toEqual([
      403,
      `things ${anonymous} create resource "things" in API group "" in the namespace "a"`,
    ]);
    expect(await refusal('PUT', '/api/v1/namespaces/a/configmaps')).toEqual([
      403,
      `configmaps ${anonymous} update resource "configmaps" in API group "" in the namespace "a"`,
    ]);
    // Every authenticated user may create a SelfSubjectReview, in any version.
    const headers = { authorization: `Bearer ${server.bootstrapToken}` };
    const unserved = '/apis/authentication.k8s.io/v1alpha1/selfsubjectreviews';
    expect((await call('POST', unserved, { as: 'anonymous', headers })).code).toBe(404);
  });

  it('accepts the bootstrap token and no other', async () => {
    const headers = { authorization: `Bearer ${server.bootstrapToken}` };
    expect((await call('GET', '/apis', { as: 'anonymous', headers })).code).toBe(200);
    expect((await call('GET', '/api/v1/nodes', { as: 'anonymous', headers })).code).toBe(403);
    const wrong = { authorization: 'Bearer abcdef.0123456789abcdee' };
    expect((await call('GET', '/readyz', { as: 'anonymous', headers: wrong })).code).toBe(401);
    expect((await call('GET', '/readyz', { as: 'anonymous' })).code).toBe(200);
    expect((await call('GET', '/api', { as: 'anonymous' })).code).toBe(403);
  });

  it('tells who has no right so, whatever he sends', async () => {
    const body = '{"kind":';
    const headers = { 'content-type': 'application/json' };
    const path = '/api/v1/namespaces/default/configmaps';
    for (const [method, at] of [
      ['POST', path],
      ['PUT', `${path}/a`],
    ] as const) {
      expect((await call(method, at, { as: 'anonymous', headers, body })).code).toBe(403);
      expect((await call(method, at, { headers, body })).code).toBe(400);
    }
  });

  it('refuses certificates of another authority', async () => {
    const other = await createTestPki(systemClock.now());
    const stranger = await other.issue('kubernetes-admin', ['system:masters']);
    expect((await call('GET', '/readyz', { as: stranger })).code).toBe(401);
  });
});

function watchOver(
  session: ClientHttp2Session,
  path: string,
): { lines: string[]; ended: Promise<void>; next: () => Promise<string> } {
  const stream = session.request({ ':path': path });
  const lines: string[] = [];
  const waiting: ((line: string) => void)[] = [];
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) {
      const waiter = waiting.shift();
      if (waiter === undefined) lines.push(line);
      else waiter(line);
    }
  });
  const ended = new Promise<void>((resolve, reject) => {
    stream.on('end', () => resolve());
    stream.on('error', reject);
  });
  const next = (): Promise<string> => {
    const line = lines.shift();
    return line === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(line);
  };
  return { lines, ended, next };
}

describe('the apiserver itself', () => {
  it('asks for its own certificate and waits until it is signed', async () => {
    const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
    const signal = AbortSignal.timeout(60_000);
    const client = certificateRequestClient(createLoopbackClient(server.registry));
    const asked = createCertificateRequester(client, systemClock, 'apiserver')(await createPkcs10(), signal);
    let name: string | undefined;
    while (name === undefined) {
      const list = (await call('GET', requests)).json as unknown as { items: KubeObject[] };
      name = list.items[0]?.metadata.name;
    }
    const stored = (await call('GET', `${requests}/${name}`)).json as unknown as { spec: object };
    expect(stored.spec).toMatchObject({ username: 'system:apiserver', signerName: 'gantry.dev/service' });
    const condition = { type: 'Approved', status: 'True', reason: 'Test', message: 'yes' };
    const approved = { ...stored, status: { conditions: [condition] } };
    expect((await call('PUT', `${requests}/${name}/approval`, { body: JSON.stringify(approved) })).code).toBe(200);
    const patch = { status: { certificate: server.admin.cert.toString('base64') } };
    const headers = { 'content-type': 'application/merge-patch+json' };
    const signed = await call('PATCH', `${requests}/${name}/status`, { headers, body: JSON.stringify(patch) });
    expect(signed.code).toBe(200);
    expect(await asked).toBe(server.admin.cert.toString('utf8'));
  });
});

async function createPkcs10(): Promise<string> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const name = 'O=gantry:apiservers, CN=system:apiserver';
  return (await x509.Pkcs10CertificateRequestGenerator.create({ name, keys, signingAlgorithm: algorithm })).toString(
    'pem',
  );
}

describe('watches', () => {
  it('hold 300 streams on one HTTP/2 connection, and end cleanly when the server stops', async () => {
    const own = await startApiServer();
    const { cert, key } = own.admin;
    const session = http2.connect(own.url, { ca: own.pki.ca, cert, key });
    const path = '/api/v1/namespaces?watch=true&fieldSelector=metadata.name%3Ddefault';
    const watches = Array.from({ length: 300 }, () => watchOver(session, path));
    for (const watch of watches) expect(JSON.parse(await watch.next())).toMatchObject({ type: 'ADDED' });
    const outcome = await own.stop();
    await Promise.all(watches.map((watch) => watch.ended));
    expect(outcome).toMatchObject({ kind: 'signal', stop: 'orderly' });
    session.destroy();
  });

  it('serves a request that asks for a protocol in vain as any other', async () => {
    const headers = { connection: 'Upgrade', upgrade: 'h2c', 'content-type': 'application/json' };
    const body = JSON.stringify({ metadata: { name: 'upgrading' } });
    expect((await call('POST', '/api/v1/namespaces/default/configmaps', { headers, body })).code).toBe(201);
  });

  it('may idle for longer than clients usually pause', async () => {
    using agent = Object.assign(new https.Agent({ keepAlive: true }), { [Symbol.dispose]: () => agent.destroy() });
    const reply = await call('GET', '/version', { agent });
    expect(reply.headers['keep-alive']).toBe('timeout=90');
  });

  it('does not wait for clients that merely keep their connection when it stops', async () => {
    const own = await startApiServer();
    const { cert, key } = own.admin;
    const agent = new https.Agent({ keepAlive: true, ca: own.pki.ca, cert, key });
    const idle = await new Promise<number>((resolve, reject) => {
      https
        .get(`${own.url}/version`, { agent }, (response) => {
          response.resume();
          response.on('end', () => resolve(response.statusCode ?? 0));
        })
        .on('error', reject);
    });
    expect(idle).toBe(200);
    const watching = Promise.withResolvers<string>();
    https.get(`${own.url}/api/v1/namespaces?watch=true`, { agent }, (response) => {
      response.on('data', () => undefined);
      response.on('end', () => watching.resolve('ended'));
      response.on('error', watching.reject);
      response.once('data', () => {
        own.stop().catch(watching.reject);
      });
    });
    expect(await watching.promise).toBe('ended');
    expect(await own.ended).toMatchObject({ stop: 'orderly' });
    agent.destroy();
  });
});
