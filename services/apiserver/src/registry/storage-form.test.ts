import type { ResourceDefinition } from '@gantry/apimachinery';
import { findResource } from '@gantry/kinds';
import type { ConfigMap, KubeObject } from '@gantry/objects';
import { append, must } from '@gantry/base';
import { beforeEach, describe, expect, it } from 'vitest';
import { deleteBody, DELETE_AS_USUAL, EVERYTHING } from './contract/registry.ts';
import type { WatchItem } from '../cache/object-response.ts';
import { patchBody, jsonBody, startHarness, type Harness, WRITE } from './testing.ts';

const stored = must(findResource({ group: '', version: 'v1', resource: 'configmaps' }), 'configmaps');

const rename = (object: KubeObject, apiVersion: string, change: (data: Record<string, string>) => object): KubeObject =>
  ({ ...object, apiVersion, data: change((object as ConfigMap).data ?? {}) }) as KubeObject;

/** Another version of ConfigMaps with another resource name. It has `shout` in capitals where the stored form has `speak` in lower case. */
const loud: ResourceDefinition = {
  ...stored,
  group: 'loud.example',
  version: 'v2',
  resource: 'loudmaps',
  storage: {
    group: '',
    version: 'v1',
    resource: 'configmaps',
    toStored: (object) => rename(object, 'v1', ({ shout = '' }) => ({ speak: shout.toLowerCase() })),
    fromStored: (object) => rename(object, 'loud.example/v2', ({ speak = '' }) => ({ shout: speak.toUpperCase() })),
  },
  selectableFields: { 'data.shout': (object) => (object as ConfigMap).data?.shout ?? '' },
};

const LIST = { ...EVERYTHING, namespace: 'n' };

describe('a version that is stored in another form', () => {
  let h: Harness;
  beforeEach(async () => {
    h = await startHarness();
  });

  const target = (name: string) => ({ definition: loud, namespace: 'n', name, subresource: '' });
  const body = (name: string, shout: string) =>
    jsonBody({ apiVersion: 'loud.example/v2', kind: 'ConfigMap', metadata: { name }, data: { shout } });
  const make = (name: string, shout: string) =>
    h.settle(h.registry.create(h.context(), target(''), body(name, shout), WRITE));
  const plain = (name: string) => h.settle(h.registry.get(h.context(), h.target('configmaps', name), ''));
  const shown = (name: string) => h.settle(h.registry.get(h.context(), target(name), ''));

  it('is written in the stored form and read in either, with bytes made once for each', async () => {
    const made = await make('a', 'HEY');
    expect(made.object).toMatchObject({ apiVersion: 'loud.example/v2', data: { shout: 'HEY' } });
    expect((await plain('a')).object).toMatchObject({ apiVersion: 'v1', data: { speak: 'hey' } });
    const [one, two] = [await shown('a'), await shown('a')];
    expect(one.object).toMatchObject({ apiVersion: 'loud.example/v2', data: { shout: 'HEY' } });
    expect(one.jsonLine()).toBe(two.jsonLine());
    expect(one.object.metadata.resourceVersion).toBe((await plain('a')).object.metadata.resourceVersion);
  });

  it('answers a write with what a read gives', async () => {
    expect((await make('a', 'hey')).object).toMatchObject({ data: { shout: 'HEY' } });
  });

  it('is updated, patched and deleted through either', async () => {
    await make('a', 'ONE');
    const { response } = await h.settle(h.registry.update(h.context(), target('a'), body('a', 'TWO'), WRITE));
    expect(response.object).toMatchObject({ data: { shout: 'TWO' } });
    const patch = new TextEncoder().encode('{"data":{"speak":"three"}}');
    const type = 'application/merge-patch+json';
    await h.settle(h.registry.patch(h.context(), h.target('configmaps', 'a'), patchBody(type, patch), WRITE));
    const same = new TextEncoder().encode('{"data":{"shout":"THREE"}}');
    const before = await shown('a');
    const after = await h.settle(h.registry.patch(h.context(), target('a'), patchBody(type, same), WRITE));
    expect(after.response.object.metadata.resourceVersion).toBe(before.object.metadata.resourceVersion);
    const options = DELETE_AS_USUAL;
    const gone = await h.settle(h.registry.delete(h.context(), target('a'), deleteBody(options)));
    expect(gone.response.object).toMatchObject({ apiVersion: 'loud.example/v2', data: { shout: 'THREE' } });
    await expect(plain('a')).rejects.toMatchObject({ reason: 'NotFound' });
  });

  it('is listed, paged and selected by its own fields', async () => {
    for (const name of ['a', 'b', 'c']) await make(name, name.toUpperCase());
    const list = (more: object) => h.settle(h.registry.list(h.context(), loud, { ...LIST, ...more }));
    expect((await list({ fieldSelector: 'data.shout=B' })).items.map((one) => one.object.metadata.name)).toEqual(['b']);
    const first = await list({ limit: 2 });
    const rest = await list({ limit: 2, continueToken: first.continueToken });
    expect([...first.items, ...rest.items].map(({ object }) => (object as ConfigMap).data?.shout)).toEqual([
      'A',
      'B',
      'C',
    ]);
    expect((await list({ fieldSelector: 'metadata.name=c' })).items).toHaveLength(1);
  });

  it('is watched with objects coming into sight and leaving it', async () => {
    await make('a', 'ONE');
    const stopping = new AbortController();
    const request = {
      namespace: 'n',
      labelSelector: '',
      fieldSelector: 'data.shout=ONE',
      resourceVersion: '',
      resourceVersionMatch: '',
      sendInitialEvents: undefined,
      allowBookmarks: false,
    } as const;
    const items = await h.settle(h.registry.watch(h.context({ signal: stopping.signal }), loud, request));
    await h.settle(h.registry.update(h.context(), target('a'), body('a', 'TWO'), WRITE));
    await make('b', 'ONE');
    const seen: string[] = [];
    await h.settle(h.deps.cache.catchUp(1000, stopping.signal));
    stopping.abort();
    for await (const batch of items) append(seen, batch.map(describeItem));
    expect(seen).toEqual(['ADDED loud.example/v2 ONE', 'DELETED loud.example/v2 ONE', 'ADDED loud.example/v2 ONE']);
  });
});

describe('a version that a server elsewhere converts', () => {
  const remote: ResourceDefinition = {
    ...loud,
    storage: {
      ...must(loud.storage, 'storage'),
      remote: {
        convert: (object) => Promise.resolve(object),
        toStored: (object) => Promise.resolve(must(loud.storage, 'storage').toStored(object)),
        fromStored: (objects) => Promise.resolve(objects.map((one) => must(loud.storage, 'storage').fromStored(one))),
      },
    },
  };

  it('is written, listed and watched through it', async () => {
    const h = await startHarness();
    const create = (name: string, shout: string) => {
      const body = jsonBody({ apiVersion: 'loud.example/v2', kind: 'ConfigMap', metadata: { name }, data: { shout } });
      const target = { definition: remote, namespace: 'n', name: '', subresource: '' };
      return h.settle(h.registry.create(h.context(), target, body, WRITE));
    };
    expect((await create('a', 'ONE')).object).toMatchObject({ data: { shout: 'ONE' } });
    const list = { ...LIST, fieldSelector: 'data.shout=ONE' };
    expect((await h.settle(h.registry.list(h.context(), remote, list))).items).toHaveLength(1);
    const stopping = new AbortController();
    const request = { ...list, sendInitialEvents: undefined, allowBookmarks: false } as const;
    const items = await h.settle(h.registry.watch(h.context({ signal: stopping.signal }), remote, request));
    await create('b', 'TWO');
    await create('c', 'ONE');
    await h.settle(h.deps.cache.catchUp(1000, stopping.signal));
    stopping.abort();
    const seen: string[] = [];
    for await (const batch of items) append(seen, batch.map(describeItem));
    expect(seen).toEqual(['ADDED loud.example/v2 ONE', 'ADDED loud.example/v2 ONE']);
  });
});

function describeItem(item: WatchItem): string {
  if (item.type === 'BOOKMARK') return item.type;
  const object = item.response.object as ConfigMap & KubeObject;
  return `${item.type} ${object.apiVersion} ${object.data?.shout ?? ''}`;
}
