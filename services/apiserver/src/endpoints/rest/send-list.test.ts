import { gunzipSync } from 'node:zlib';
import { decodeProtobuf } from '@gantry/apimachinery';
import type { KubeObject } from '@gantry/objects';
import { parse } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, callServer, type Reply } from '../../testing/call-server.ts';
import { startApiServer, type TestApiServer } from '../../testing/start-api-server.ts';

const COUNT = 60;
const PATH = '/api/v1/namespaces/default/configmaps';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const names = Array.from({ length: COUNT }, (_, index) => `big-${String(index).padStart(3, '0')}`);

let server: TestApiServer;

function get(path: string, headers: CallOptions['headers'] = {}): Promise<Reply> {
  return callServer(server, 'GET', path, { headers });
}

function namesIn(list: unknown): readonly (string | undefined)[] {
  return (list as { items: readonly KubeObject[] }).items.map((item) => item.metadata.name);
}

beforeAll(async () => {
  server = await startApiServer();
  for (const name of names) {
    const body = JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name },
      data: { text: name.repeat(700) },
    });
    await callServer(server, 'POST', PATH, { headers: { 'content-type': 'application/json' }, body });
  }
});

afterAll(async () => {
  await server.stop();
});

describe('the end of a JSON body', () => {
  const ends = async (method: string, path: string, headers: Record<string, string>, body?: string) => {
    const reply = await callServer(server, method, path, { headers, ...(body === undefined ? {} : { body }) });
    return reply.bytes.toString().slice(-2);
  };
  const type = { 'content-type': 'application/json' };
  const configMap = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ends' } });

  it.each([
    ['POST', PATH, configMap],
    ['GET', `${PATH}/ends`],
    ['GET', `${PATH}/missing`],
    ['GET', `${PATH}?limit=1`],
    ['GET', '/api/v1'],
    ['PUT', `${PATH}/ends`, configMap],
    ['PATCH', `${PATH}/ends`, '{"data":{"a":"b"}}'],
    ['DELETE', `${PATH}/ends`],
  ])('of %s %s is a line end, as in Kubernetes', async (method, path, body?: string) => {
    const headers = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : type;
    expect(await ends(method, path, headers, body)).toBe('}\n');
  });

  it('is none where it is indented, nor is there one inside the frames of a watch or between items', async () => {
    expect(await ends('GET', `${PATH}/${names[0] ?? ''}?pretty=1`, {})).toBe('\n}');
    const list = await callServer(server, 'GET', `${PATH}?limit=2`, {});
    expect(list.bytes.toString().split('\n')).toHaveLength(2);
  });
});

describe('characters that Go escapes', () => {
  const SPECIAL = 'a && b < c > d \u2028 \u2029';
  const ESCAPED = String.raw`a \u0026\u0026 b \u003c c \u003e d \u2028 \u2029`;
  const path = '/apis/apps/v1/namespaces/default/controllerrevisions';
  const body = JSON.stringify({ metadata: { name: 'escaped' }, revision: 1, data: { args: [SPECIAL] } });

  beforeAll(async () => {
    const reply = await callServer(server, 'POST', path, { headers: { 'content-type': 'application/json' }, body });
    expect(reply.code, reply.bytes.toString()).toBe(201);
    expect(reply.bytes.toString()).toContain(`"data":{"args":["${ESCAPED}"]}`);
  });

  it.each([
    ['an object', `${path}/escaped`, {}],
    ['a list', path, {}],
    ['an indented object', `${path}/escaped?pretty=1`, {}],
    ['an indented list', `${path}?pretty=1`, {}],
    ['a table', `${path}?includeObject=Object`, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }],
    ['protobuf, whose raw fields are JSON', `${path}/escaped`, { accept: PROTOBUF }],
  ])(
    'are escaped in %s, where clients compare the bytes of raw fields',
    async (_, at, headers: CallOptions['headers']) => {
      const text = (await get(at, headers)).bytes.toString();
      expect(text).toContain(ESCAPED);
      expect(text).not.toMatch(/[<>&\u2028\u2029]/);
    },
  );
});

describe('a list that is too big for one slab', () => {
  it.each([
    ['JSON', {}, (bytes: Buffer): unknown => JSON.parse(bytes.toString())],
    ['indented JSON', { 'user-agent': 'curl/8' }, (bytes: Buffer): unknown => JSON.parse(bytes.toString())],
    ['YAML', { accept: 'application/yaml' }, (bytes: Buffer): unknown => parse(bytes.toString()) as unknown],
    ['protobuf', { accept: PROTOBUF }, (bytes: Buffer): unknown => decodeProtobuf(bytes)],
    ['compressed JSON', { 'accept-encoding': 'gzip' }, (b: Buffer): unknown => JSON.parse(gunzipSync(b).toString())],
  ])('is streamed whole as %s', async (_, headers: Record<string, string>, read) => {
    const reply = await get(PATH, headers);
    expect(reply.code).toBe(200);
    expect(reply.headers['content-length']).toBeUndefined();
    const list = read(reply.bytes);
    expect(namesIn(list)).toEqual(names);
    expect(list).toMatchObject({ kind: 'ConfigMapList' });
    expect(list).toHaveProperty('items.0.data.text', names[0]?.repeat(700));
  });

  it('is not compressed for a client that refuses it', async () => {
    const reply = await get(PATH, { 'accept-encoding': 'gzip;q=0, identity' });
    expect(reply.headers['content-encoding']).toBeUndefined();
    expect(namesIn(reply.json)).toEqual(names);
  });

  it('is streamed as rows with the whole objects', async () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const { json } = await get(`${PATH}?includeObject=Object`, { accept });
    const { rows } = json as unknown as { rows: readonly { object: KubeObject; cells: readonly string[] }[] };
    expect(rows.map((row) => row.object.metadata.name)).toEqual(names);
    expect(rows.map((row) => row.cells[0])).toEqual(names);
  });

  it.each([
    ['JSON', 'application/json'],
    ['protobuf', PROTOBUF],
  ])('gives the metadata alone as %s', async (_, type) => {
    const accept = `${type};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io`;
    const reply = await get(PATH, { accept });
    const list = type === PROTOBUF ? decodeProtobuf(reply.bytes) : reply.json;
    expect(list).toMatchObject({ kind: 'PartialObjectMetadataList' });
    expect(namesIn(list)).toEqual(names);
  });

  it.each([
    ['application/json', {}],
    ['application/yaml', {}],
    ['application/json', { 'user-agent': 'curl/8' }],
  ])('says so when nothing is in it (%s)', async (accept, headers) => {
    const reply = await get(`${PATH}?labelSelector=no=such`, { accept, ...headers });
    const list: unknown = accept === 'application/yaml' ? parse(reply.bytes.toString()) : reply.json;
    expect(list).toMatchObject({ kind: 'ConfigMapList', items: [] });
    expect(reply.headers['content-length']).toBeDefined();
  });
});
