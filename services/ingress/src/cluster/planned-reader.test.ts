import { ManualClock } from '@gantry/base/testing';
import type { ListOptions, ObjectReader } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import { Informers } from '@gantry/controller-runtime';
import { silentLog } from '@gantry/controller-runtime/testing';
import {
  ENDPOINT_SLICES,
  type Ingress,
  INGRESS_CLASSES,
  INGRESSES,
  type KubeObject,
  type Resource,
  SERVICES,
  StatusError,
} from '@gantry/objects';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { plan, planAfter, refusals } from '../testing/plans.ts';
import { ingress, OURS, rule, service, slice } from '../testing/objects.ts';
import { PlannedReader } from './planned-reader.ts';

let abort: AbortController;
let clock: ManualClock;
let client: FakeObjectClient;
let informers: Informers;

beforeEach(async () => {
  abort = new AbortController();
  clock = new ManualClock();
  client = new FakeObjectClient(clock);
  const resources = [INGRESSES, INGRESS_CLASSES, SERVICES, ENDPOINT_SLICES];
  const reader = new PlannedReader(client, clock, { ofNamespace: 60, all: 200, least: 10 });
  informers = new Informers({ client: reader, resources, clock, random: () => 0.5, log: silentLog });
  void informers.run(abort.signal);
  await clock.advance(0);
});
afterEach(() => abort.abort());

const put = async <T extends KubeObject>(resource: Resource<T>, object: T) => {
  await client.put(resource, object);
  await clock.advance(100);
};
const named = (name: string) => informers.cache.get(INGRESSES, { namespace: name.slice(0, 1), name: name.slice(2) });
const rulesOf = (name: string) => named(name)?.spec?.rules?.length ?? 0;
const large = (name: string, paths = 40, age = 0) => {
  const backends = Array.from({ length: paths }, (_, at) => `Exact /${at} web:80`);
  return ingress(name, { rules: [rule(`${name.replace('/', '-')}.example`, ...backends)] }, age);
};

/** Returns the client with lists in pages, like the API server. */
const inPages = (asked: (limit: number | undefined) => void = () => {}): ObjectReader => ({
  get: client.get.bind(client),
  watch: client.watch.bind(client),
  list: async <T extends KubeObject>(resource: Resource<T>, options: ListOptions, signal: AbortSignal) => {
    const { items, resourceVersion } = await client.list(resource, {}, signal);
    const { limit = items.length, continueToken = '' } = options;
    asked(options.limit);
    const end = Number(continueToken) + limit;
    const next = end < items.length ? String(end) : '';
    return { items: items.slice(Number(continueToken), end), resourceVersion, continueToken: next };
  },
});

it('a cache holds what plans read, and no other field', async () => {
  const more = { labels: { large: 'x' }, annotations: { large: 'x', 'gantry.dev/left-out': '' } };
  const withMore = <T extends KubeObject>(object: T): T => ({ ...object, metadata: { ...object.metadata, ...more } });
  const one = ingress('a/one', { rules: [rule('a.example', 'Prefix / web:80')], tls: [{ secretName: 'tls' }] });
  const annotated = withMore(one);
  const annotations = { ...more.annotations, 'kubernetes.io/ingress.class': 'gantry' };
  await put(INGRESSES, { ...annotated, metadata: { ...annotated.metadata, annotations } });
  await put(INGRESS_CLASSES, withMore(OURS));
  const spec = { selector: { app: 'web' }, type: 'NodePort' };
  await put(SERVICES, withMore(service('a/web', [{ name: 'http', port: 80, nodePort: 30_080 }], spec)));
  const endpoints = slice('a/web', ['10.128.4.1']);
  const [first] = endpoints.endpoints ?? [];
  await put(ENDPOINT_SLICES, {
    ...endpoints,
    metadata: {
      ...endpoints.metadata,
      annotations: more.annotations,
      labels: { ...endpoints.metadata.labels, x: 'y' },
    },
    endpoints: [{ addresses: first?.addresses ?? [], nodeName: 'node', conditions: first?.conditions ?? {} }],
  });
  const text = JSON.stringify(
    [INGRESSES, INGRESS_CLASSES, SERVICES, ENDPOINT_SLICES].map((resource) =>
      informers.cache.list(resource as Resource),
    ),
  );
  for (const field of ['large', 'left-out', 'selector', 'nodePort', 'nodeName', '"x"', 'managedFields']) {
    expect(text).not.toContain(field.startsWith('"') ? field : `"${field}`);
  }
  expect(named('a/one')).toMatchObject({
    metadata: { generation: 1, annotations: { 'kubernetes.io/ingress.class': 'gantry' } },
    spec: one.spec,
  });
  expect(informers.cache.list(SERVICES)[0]?.spec).toEqual({ type: 'NodePort', ports: [{ name: 'http', port: 80 }] });
  expect(informers.cache.labelled(ENDPOINT_SLICES, 'a', endpoints.metadata.labels ?? {})[0]).toMatchObject({
    ports: endpoints.ports,
    endpoints: endpoints.endpoints,
  });
});

it('null counts as no value', async () => {
  const nulls = {
    ingressClassName: 'gantry',
    defaultBackend: null,
    rules: [{ host: null, http: null }],
    tls: [{ hosts: null }],
  };
  await put(INGRESSES, { ...ingress('a/one', {}), spec: nulls, status: null } as unknown as Ingress);
  expect(named('a/one')).toMatchObject({ spec: { ingressClassName: 'gantry', rules: [{}], tls: [{}] } });
  expect(JSON.stringify(named('a/one'))).not.toContain('null');
});

it('an Ingress for which its namespace has no room comes without rules, and with them when there is room', async () => {
  await put(INGRESSES, large('a/one'));
  await put(INGRESSES, large('a/two'));
  await put(INGRESSES, large('b/one'));
  expect(['a/one', 'a/two', 'b/one'].map(rulesOf)).toEqual([1, 0, 1]);
  const left = named('a/two');
  expect(left === undefined ? [] : refusals(plan(left))).toEqual([
    `${left?.metadata.uid ?? ''}: TooManyRoutes: spec: it is not read, since the Ingresses of the namespace name too much`,
  ]);
  await client.delete(INGRESSES, { namespace: 'a', name: 'one' }, {}, abort.signal);
  await clock.advance(1000);
  expect(rulesOf('a/two'), 'lists are rare').toBe(0);
  await clock.advance(180_000);
  expect(['a/one', 'a/two', 'b/one'].map(rulesOf)).toEqual([0, 1, 1]);
});

it('long paths and hosts take the room of several', async () => {
  const long = Array.from({ length: 10 }, (_, at) => `Exact /${String(at).padEnd(2000, 'x')} web:80`);
  await put(INGRESSES, ingress('a/long', { rules: [rule('a.example', ...long)] }));
  expect(rulesOf('a/long')).toBe(0);
});

it('a namespace has a little room also where others have used up what there is for all', async () => {
  for (const name of ['a', 'b', 'c', 'd', 'e']) await put(INGRESSES, large(`${name}/one`, 48));
  const kept = informers.cache.list(INGRESSES).filter(({ spec }) => spec?.rules !== undefined);
  expect(kept).toHaveLength(4);
  await put(INGRESSES, large('z/small', 6));
  expect(rulesOf('z/small')).toBe(1);
});

it('caches report an Ingress that comes with its rules again, though it is the same version', async () => {
  await put(INGRESSES, large('a/one'));
  await put(INGRESSES, large('a/two'));
  const reported: string[] = [];
  informers.subscribe((event) => {
    if (event.kind === 'changed') reported.push(...event.changes.flatMap(({ object }) => object?.metadata.name ?? []));
  });
  await client.delete(INGRESSES, { namespace: 'a', name: 'one' }, {}, abort.signal);
  await clock.advance(180_000);
  expect([rulesOf('a/two'), reported]).toEqual([1, ['two']]);
});

it('a watch goes on behind an Ingress that was left out', async () => {
  await put(INGRESSES, large('a/one'));
  await put(INGRESSES, large('a/two'));
  client.breakWatches();
  await clock.advance(10_000);
  await put(INGRESSES, large('b/one'));
  expect(['a/one', 'a/two', 'b/one'].map(rulesOf)).toEqual([1, 0, 1]);
});

describe('a list', () => {
  const room = { ofNamespace: 60, all: 200, least: 10 };
  const kept = async (reader: PlannedReader) => {
    const { items } = await reader.list(INGRESSES, {}, abort.signal);
    return items
      .filter(({ spec }) => spec?.rules !== undefined)
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  };

  it('keeps first what was kept before, also after one that failed', async () => {
    const reader = new PlannedReader(inPages(), clock, room);
    await client.put(INGRESSES, large('a/z'));
    expect(await kept(reader)).toEqual(['a/z']);
    await client.put(INGRESSES, large('a/a'));
    for (let index = 0; index < 25; index++) await client.put(INGRESSES, ingress(`a/m${index}`, {}));
    expect(await kept(reader)).toEqual(['a/z']);
    client.failNext(({ verb }) => verb === 'list', StatusError.unavailable('none'));
    await expect(kept(reader)).rejects.toThrow('none');
    expect(await kept(reader)).toEqual(['a/z']);
  });

  it('that is the first one keeps the oldest, also where it comes in a later page', async () => {
    await client.put(INGRESSES, large('a/z'));
    await client.put(INGRESSES, large('a/a', 40, 1));
    for (let index = 0; index < 25; index++) await client.put(INGRESSES, ingress(`a/m${index}`, {}, 1));
    expect(await kept(new PlannedReader(inPages(), clock, room))).toEqual(['a/z']);
  });

  it('after a restart leaves hosts with their owners, also those of Ingresses that it leaves out', async () => {
    const owners = new Map([['b-live.example', 'b']]);
    await client.put(INGRESSES, ingress('a/x', { rules: [rule('b-live.example', 'Prefix / web:80')] }, 1));
    for (let index = 0; index < 25; index++) await client.put(INGRESSES, ingress(`a/y${index}`, {}));
    await client.put(INGRESSES, large('b/live', 70));
    const ownersNow = async () => {
      const { items } = await new PlannedReader(inPages(), clock, room).list(INGRESSES, {}, abort.signal);
      return [...planAfter(owners, ...items).owners];
    };
    expect(await ownersNow()).toEqual([['b-live.example', 'b']]);
    await client.delete(INGRESSES, { namespace: 'b', name: 'live' }, {}, abort.signal);
    expect(await ownersNow(), 'its last Ingress is deleted').toEqual([['b-live.example', 'a']]);
  });

  it('gives each namespace its share, wherever it is in the order', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await client.put(INGRESSES, large(`${name}/one`, 28));
      await client.put(INGRESSES, large(`${name}/two`, 28));
    }
    await client.put(INGRESSES, large('z/one', 28));
    const names = await kept(new PlannedReader(inPages(), clock, room));
    expect(names).toContain('z/one');
    expect(new Set(names.map((name) => name[0]))).toEqual(new Set(['a', 'b', 'c', 'd', 'e', 'z']));
    expect(names).toHaveLength(6);
  });
});

it('a namespace that comes later has its share at once; what others have beyond theirs makes room', async () => {
  for (const name of ['a', 'b', 'c', 'd']) {
    await put(INGRESSES, large(`${name}/one`, 28));
    await put(INGRESSES, large(`${name}/two`, 18));
  }
  expect(informers.cache.list(INGRESSES).filter(({ spec }) => spec?.rules === undefined)).toEqual([]);
  await put(INGRESSES, large('z/one', 28));
  expect(rulesOf('z/one')).toBe(1);
  expect(['a/one', 'b/one', 'c/one', 'd/one'].map(rulesOf)).toEqual([1, 1, 1, 1]);
  const left = informers.cache.list(INGRESSES).filter(({ spec }) => spec?.rules === undefined);
  expect(left.map(({ metadata }) => metadata.name)).toEqual(['two', 'two']);
});

it('Ingresses that were left out are not listed again and again', async () => {
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
    await put(INGRESSES, large(`${name}/one`, 28));
    await put(INGRESSES, large(`${name}/two`, 4));
    await put(INGRESSES, large(`${name}/three`, 21));
  }
  await clock.advance(600_000);
  let lists = 0;
  client.failNext(({ verb }) => verb === 'list' && ++lists < 0, StatusError.unavailable('none'));
  for (let minute = 0; minute < 10; minute++) {
    await put(INGRESSES, ingress(`m/m${minute}`, {}));
    await clock.advance(60_000);
  }
  expect(lists).toBe(0);
});

it('objects are read in pages', async () => {
  for (let index = 0; index < 45; index++) {
    await client.put(SERVICES, service(`a/s${index}`, [{ port: 80 }]));
  }
  const asked: (number | undefined)[] = [];
  const { items, continueToken } = await new PlannedReader(
    inPages((limit) => asked.push(limit)),
    clock,
  ).list(SERVICES, {}, abort.signal);
  expect([items.length, continueToken, asked]).toEqual([45, '', [20, 20, 20]]);
});
