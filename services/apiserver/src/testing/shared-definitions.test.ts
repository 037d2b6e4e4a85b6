import type { CustomResourceDefinition, KubeObject } from '@gantry/objects';
import { systemClock, systemRandom, systemUid } from '@gantry/base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureIncarnation } from '../incarnation.ts';
import { createMemoryObjectStore } from '../storage/testing/memory-store.ts';
import { callServer, type Reply } from './call-server.ts';
import { startApiServer, type TestApiServer } from './start-api-server.ts';
import { createTestPki } from './test-pki.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const GROUP = 'shared.example.org';
const DEFINITION = `${DEFINITIONS}/things.${GROUP}`;

let one: TestApiServer;
let other: TestApiServer;

beforeAll(async () => {
  const store = createMemoryObjectStore({ clock: systemClock, random: systemRandom, newUid: systemUid });
  await ensureIncarnation(store.etcd, systemUid, new AbortController().signal);
  const pki = await createTestPki(systemClock.now());
  one = await startApiServer({ store, pki });
  other = await startApiServer({ store, pki });
});

afterAll(async () => {
  await one.stop();
  await other.stop();
});

const version = (name: string, more: object = {}) => ({
  name,
  served: true,
  storage: name === 'v1',
  schema: {
    openAPIV3Schema: {
      type: 'object',
      properties: { spec: { type: 'object', properties: { [name]: { type: 'string', default: name } } } },
    },
  },
  ...more,
});

const send = (server: TestApiServer, method: string, path: string, body: object, type = 'application/json') =>
  callServer(server, method, path, { body: JSON.stringify(body), headers: { 'content-type': type } });
const merge = (server: TestApiServer, path: string, body: object) =>
  send(server, 'PATCH', path, body, 'application/merge-patch+json');
const get = (server: TestApiServer, path: string) => callServer(server, 'GET', path, {});

async function until(read: () => Promise<Reply>, holds: (reply: Reply) => boolean): Promise<Reply> {
  for (let tries = 0; tries < 400; tries++) {
    const reply = await read();
    if (holds(reply)) return reply;
  }
  throw new Error('it never came');
}

const isEstablished = ({ json }: Reply) =>
  (json as unknown as CustomResourceDefinition).status?.conditions?.some(
    ({ type, status }) => type === 'Established' && status === 'True',
  ) === true;

const collection = (apiVersion: string) => `/apis/${GROUP}/${apiVersion}/namespaces/default/things`;
const thing = (name: string) => ({ apiVersion: `${GROUP}/v1`, kind: 'Thing', metadata: { name }, spec: {} });

describe('a definition made through one API server', () => {
  it('is served by the other from the moment in which it is established', async () => {
    const made = await send(one, 'POST', DEFINITIONS, {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `things.${GROUP}` },
      spec: {
        group: GROUP,
        scope: 'Namespaced',
        names: { plural: 'things', kind: 'Thing' },
        versions: [version('v1')],
      },
    });
    expect(made.code, made.bytes.toString()).toBe(201);
    await until(() => get(one, DEFINITION), isEstablished);
    const codes: number[] = [];
    for (let i = 0; i < 20; i++) codes.push((await get(i % 2 === 0 ? other : one, collection('v1'))).code);
    expect(new Set(codes)).toEqual(new Set([200]));
    expect((await send(other, 'POST', collection('v1'), thing('a'))).json).toMatchObject({ spec: { v1: 'v1' } });
    const discovery = await get(other, `/apis/${GROUP}/v1`);
    expect(discovery.json).toMatchObject({ resources: [{ name: 'things' }] });
    const document = await get(other, `/openapi/v3/apis/${GROUP}/v1`);
    expect(Object.keys((document.json as unknown as { paths: object }).paths)).toContain(
      `${collection('v1').replace('default', '{namespace}')}/{name}`,
    );
  });

  it('gains a version there, and loses it', async () => {
    expect((await merge(one, DEFINITION, { spec: { versions: [version('v1'), version('v2')] } })).code).toBe(200);
    const shown = await until(
      () => get(other, `${collection('v2')}/a`),
      ({ code }) => code === 200,
    );
    expect((shown.json as unknown as KubeObject & { spec: object }).spec).toEqual({});
    const unserved = version('v2', { served: false });
    expect((await merge(other, DEFINITION, { spec: { versions: [version('v1'), unserved] } })).code).toBe(200);
    await until(
      () => get(one, `${collection('v2')}/a`),
      ({ code }) => code === 404,
    );
    expect((await get(one, `${collection('v1')}/a`)).code).toBe(200);
  });

  it('goes with its objects, and may come again', async () => {
    expect((await callServer(other, 'DELETE', DEFINITION, {})).code).toBe(200);
    await until(
      () => get(one, DEFINITION),
      ({ code }) => code === 404,
    );
    await until(
      () => get(other, collection('v1')),
      ({ code }) => code === 404,
    );
    await until(
      () => get(one, collection('v1')),
      ({ code }) => code === 404,
    );
  });
});
