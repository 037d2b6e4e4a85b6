import { append, systemClock, systemRandom, systemUid } from '@gantry/base';
import type { KubeObject } from '@gantry/objects';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ensureIncarnation } from '../incarnation.ts';
import { createMemoryObjectStore } from '../storage/testing/memory-store.ts';
import { callServer, type Reply } from './call-server.ts';
import { startApiServer, type TestApiServer } from './start-api-server.ts';

const PATH = '/api/v1/namespaces/default/configmaps';
const NAMES = ['a', 'b', 'c', 'd', 'e'];

let server: TestApiServer;
let store: ReturnType<typeof createMemoryObjectStore>;
/** Versions of the list before and after the creation of `e`. */
let before: string;
let after: string;

interface List {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly KubeObject[];
}

const get = (query: string, headers: Record<string, string> = {}): Promise<Reply> =>
  callServer(server, 'GET', `${PATH}${query}`, { headers });

async function list(query: string): Promise<List> {
  const reply = await get(query);
  expect(reply.code, reply.bytes.toString()).toBe(200);
  return reply.json as unknown as List;
}

const namesOf = ({ items }: List) => items.map((item) => item.metadata.name ?? '').filter((n) => NAMES.includes(n));

async function make(name: string): Promise<void> {
  const labels = { odd: String(Math.max(0, NAMES.indexOf(name)) % 2) };
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels } });
  expect((await callServer(server, 'POST', PATH, { body })).code).toBe(201);
}

beforeAll(async () => {
  store = createMemoryObjectStore({ clock: systemClock, random: systemRandom, newUid: systemUid });
  await ensureIncarnation(store.etcd, systemUid, new AbortController().signal);
  server = await startApiServer({ store });
  for (const name of NAMES.slice(0, 4)) await make(name);
  before = (await list('')).metadata.resourceVersion;
  await make('e');
  after = (await list('')).metadata.resourceVersion;
});

afterAll(() => server.stop());

const versions = (text: string) => text.replaceAll('BEFORE', before).replaceAll('AFTER', after);

describe('a list', () => {
  it.each([
    ['', 'abcde'],
    ['?resourceVersion=0', 'abcde'],
    ['?resourceVersion=BEFORE', 'abcde'],
    ['?resourceVersion=BEFORE&resourceVersionMatch=NotOlderThan', 'abcde'],
    ['?resourceVersion=0&resourceVersionMatch=NotOlderThan', 'abcde'],
    ['?resourceVersion=BEFORE&resourceVersionMatch=Exact', 'abcd'],
    ['?resourceVersion=AFTER&resourceVersionMatch=Exact', 'abcde'],
    ['?resourceVersion=0&limit=2', 'abcde'],
    ['?resourceVersion=0&resourceVersionMatch=NotOlderThan&limit=2', 'abcde'],
    ['?limit=-1', 'abcde'],
    ['?limit=100&resourceVersion=BEFORE', 'abcd'],
    ['?limit=100&resourceVersion=BEFORE&resourceVersionMatch=NotOlderThan', 'abcde'],
    ['?labelSelector=odd%3D1', 'bd'],
    ['?fieldSelector=metadata.name%3Dc', 'c'],
    ['?fieldSelector=metadata.name!%3Dc&labelSelector=odd%3D0', 'ae'],
    ['?labelSelector=odd%3D0&resourceVersion=BEFORE&resourceVersionMatch=Exact', 'ac'],
  ])('%s shows %s', async (query, names) => {
    expect(namesOf(await list(versions(query))).join('')).toBe(names);
  });

  it.each([
    ['limit=2', true],
    ['limit=2&resourceVersion=AFTER', true],
    ['limit=2&resourceVersion=AFTER&resourceVersionMatch=Exact', true],
    ['limit=2&resourceVersion=BEFORE&resourceVersionMatch=NotOlderThan', true],
    ['limit=2&labelSelector=odd', false],
    ['limit=2&fieldSelector=metadata.name!%3Dx', false],
  ])('with %s comes in pages, and counts the rest: %s', async (query, counted) => {
    const all = namesOf(await list('?limit=500'));
    const seen: string[] = [];
    let token: string | undefined;
    let version: string | undefined;
    do {
      const selectors = query.replace(/&?resourceVersion(Match)?=\w+/g, '');
      const page = await list(versions(token === undefined ? `?${query}` : `?${selectors}&continue=${token}`));
      expect(page.items.length).toBeLessThanOrEqual(2);
      append(seen, namesOf(page));
      token = page.metadata.continue;
      version ??= page.metadata.resourceVersion;
      expect(page.metadata.resourceVersion).toBe(version);
      expect(typeof page.metadata.remainingItemCount === 'number').toBe(counted && token !== undefined);
    } while (token !== undefined);
    expect(seen).toEqual(all);
  });

  it.each([
    [
      '?resourceVersion=abc',
      'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    ],
    [
      '?resourceVersion=-1',
      'invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax',
    ],
    [
      '?resourceVersion=99999999999999999999',
      'invalid resource version: resourceVersion: Invalid value: "99999999999999999999": strconv.ParseUint: parsing "99999999999999999999": value out of range',
    ],
    [
      '/a?resourceVersion=abc',
      'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    ],
    [
      '?watch=1&resourceVersion=abc',
      'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    ],
    ['?continue=x', 'invalid continue token: continue key is not valid: illegal base64 data at input byte 0'],
    ['?continue=ab$d', 'invalid continue token: continue key is not valid: illegal base64 data at input byte 2'],
    [
      `?continue=${token({ v: 'v2', rv: 1, start: 'a' })}`,
      'invalid continue token: continue key is not valid: server does not recognize this encoded version v2',
    ],
    [
      `?continue=${token({ v: 'meta.k8s.io/v1', start: 'a' })}`,
      'invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)',
    ],
    [
      `?continue=${token({ v: 'meta.k8s.io/v1', rv: 300 })}`,
      'invalid continue token: continue key is not valid: encoded start key empty (version meta.k8s.io/v1)',
    ],
    [
      `?continue=${token({ v: 'meta.k8s.io/v1', rv: 300, start: '../x' })}`,
      'invalid continue token: continue key is not valid: ../x',
    ],
    [
      `?continue=${token({ v: 'meta.k8s.io/v1', rv: -1, start: 'a' })}&resourceVersion=5`,
      'specifying resource version is not allowed when using continue',
    ],
    ['?limit=x', 'strconv.ParseInt: parsing "x": invalid syntax'],
    ['?fieldSelector=data%3Dx', '"data" is not a known field selector: only "metadata.name", "metadata.namespace"'],
  ])('refuses %s', async (query, message) => {
    const reply = await get(query);
    expect(reply.json).toMatchObject({ code: 400, reason: 'BadRequest' });
    expect(reply.json['message']).toContain(message);
  });

  it('of a version that was never reached is given up after 3 s, with the cause', async () => {
    const far = String(Number(after) + 256_000);
    const queries = [
      `?resourceVersion=${far}`,
      `?resourceVersion=${far}&resourceVersionMatch=Exact`,
      `?resourceVersion=${far}&limit=1`,
      `/a?resourceVersion=${far}`,
      '?resourceVersion=18446744073709551615',
    ];
    const startedAt = performance.now();
    for (const reply of await Promise.all(queries.map((query) => get(query)))) {
      expect(reply.json).toMatchObject({
        code: 504,
        reason: 'Timeout',
        details: {
          retryAfterSeconds: 1,
          causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        },
      });
      expect(reply.json['message']).toMatch(/^Timeout: Too large resource version: \d+, current: \d+$/);
      expect(reply.headers['retry-after']).toBe('1');
    }
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(2900);
  });

  it('whose token has expired goes on with the inconsistent one that the answer holds', async () => {
    const first = await list('?limit=2');
    await make('f');
    store.etcd.compactHistory(store.etcd.revision);
    const expired = await get(`?limit=2&continue=${first.metadata.continue}`);
    expect(expired.json).toMatchObject({ code: 410, reason: 'Expired' });
    const { continue: goOn } = expired.json['metadata'] as unknown as { continue: string };
    const rest = await list(`?continue=${goOn}`);
    expect(namesOf(rest)).toEqual(['c', 'd', 'e']);
    const exact = await get(`?resourceVersion=${before}&resourceVersionMatch=Exact`);
    expect(exact.json).toMatchObject({
      code: 410,
      reason: 'Expired',
      message: 'The resourceVersion for the provided list is too old.',
    });
  });
});

describe('a deletion of many', () => {
  const COLLECTION = '/api/v1/namespaces/kube-public/configmaps';
  const del = (query: string, body = '', type = 'application/json') =>
    callServer(server, 'DELETE', `${COLLECTION}${query}`, { body, headers: { 'content-type': type } });
  const left = async () => {
    const { json } = await callServer(server, 'GET', COLLECTION);
    return namesOf(json as unknown as List).join('');
  };

  beforeEach(async () => {
    for (const name of NAMES) {
      const labels = { odd: String(NAMES.indexOf(name) % 2) };
      const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels } });
      await callServer(server, 'POST', COLLECTION, { body });
    }
  });

  it.each([
    ['?labelSelector=odd%3D1', '', 'bd', 'ace'],
    ['?fieldSelector=metadata.name%3Dc', '', 'c', 'abde'],
    ['?limit=2', '', 'ab', 'cde'],
    ['?labelSelector=odd%3D1&dryRun=All', '', 'bd', 'abcde'],
    ['?labelSelector=none', '', '', 'abcde'],
    ['?resourceVersion=0&labelSelector=odd%3D0', '{"gracePeriodSeconds":0}', 'ace', 'bd'],
    // If there is a body, options in the query are ignored.
    ['?dryRun=All&labelSelector=odd%3D1', '{"propagationPolicy":"Background"}', 'bd', 'ace'],
  ])('with %s and the body %j answers with %s, and leaves %s', async (query, body, gone, rest) => {
    const reply = await del(query, body);
    expect(reply.json).toMatchObject({ kind: 'ConfigMapList' });
    const { metadata } = reply.json as unknown as List;
    expect(Number(metadata.resourceVersion)).toBeGreaterThan(0);
    expect(metadata.continue === undefined).toBe(!query.includes('limit'));
    expect(namesOf(reply.json as unknown as List).join('')).toBe(gone);
    expect(await left()).toBe(rest);
  });

  it.each([
    ['?limit=x', '', 400, 'invalid syntax'],
    ['?resourceVersionMatch=Exact', '', 422, 'resourceVersionMatch is forbidden unless resourceVersion is provided'],
    ['?sendInitialEvents=true', '', 422, 'sendInitialEvents is forbidden for list'],
    ['?fieldSelector=data%3Dx', '', 400, 'is not a known field selector'],
    ['?propagationPolicy=x', '', 422, 'propagationPolicy: Unsupported value: "x"'],
    ['?dryRun=x', '', 422, 'dryRun: Unsupported value'],
    ['', '{"orphanDependents":true,"propagationPolicy":"Orphan"}', 422, 'cannot be both set'],
    ['', '[]', 400, ''],
  ])('with %s and the body %j is refused', async (query, body, code, message) => {
    const reply = await del(query, body);
    expect(reply.json).toMatchObject({ code });
    expect(reply.json['message']).toContain(message);
    expect(await left()).toBe('abcde');
  });

  it('minds the type of a body only where there is one', async () => {
    expect((await del('?labelSelector=none', '', 'text/plain')).code).toBe(200);
    expect((await del('?labelSelector=none', '{}', 'text/plain')).code).toBe(415);
  });
});

function token(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
