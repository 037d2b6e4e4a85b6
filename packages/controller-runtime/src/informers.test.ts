import { CONFIG_MAPS, type ConfigMap, type Pod, PODS, SECRETS, StatusError } from '@gantry/objects';
import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Informer } from './informer.ts';
import { type InformerEvent, Informers } from './informers.ts';
import { resourceId } from './revision.ts';
import { silentLog } from './testing/silent-log.ts';

function configMap(name: string, data: Record<string, string> = {}, namespace = 'a'): ConfigMap {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data };
}

describe('informers', () => {
  let clock: ManualClock;
  let client: FakeObjectClient;
  let informers: Informers;
  let stop: AbortController;
  let changes: string[];
  beforeEach(() => {
    clock = new ManualClock();
    client = new FakeObjectClient(clock);
    informers = new Informers({ client, resources: [CONFIG_MAPS, PODS], clock, random: () => 0.5, log: silentLog });
    stop = new AbortController();
    changes = [];
    informers.subscribe((event) => {
      if (event.kind !== 'changed') return;
      for (const { object, old } of event.changes) {
        changes.push(
          `${old === undefined ? 'new' : object === undefined ? 'gone' : 'changed'} ${(object ?? old)?.metadata.name}`,
        );
      }
    });
  });
  afterEach(() => stop.abort());
  const names = (namespace?: string) =>
    informers.cache.list(CONFIG_MAPS, namespace).map(({ metadata }) => metadata.name);
  const remove = (name: string) => client.delete(CONFIG_MAPS, { namespace: 'a', name }, {}, stop.signal);

  it('list first and follow then', async () => {
    await client.put(CONFIG_MAPS, configMap('one'));
    expect(informers.missing()).toEqual(['configmaps', 'pods']);
    void informers.run(stop.signal);
    await clock.advance(0);
    expect(informers.synced()).toBe(true);
    await client.put(CONFIG_MAPS, configMap('two', {}, 'b'));
    await clock.advance(0);
    expect(names()).toEqual(['one', 'two']);
    expect(names('b')).toEqual(['two']);
    await remove('one');
    await clock.advance(0);
    expect(changes).toEqual(['new one', 'new two', 'gone one']);
    expect(informers.cache.revision()).toBe(client.revision);
  });

  it('find objects by an index of a user, which is made when it is first asked', async () => {
    const seen: string[] = [];
    const byColor = {
      resource: CONFIG_MAPS,
      valuesOf: ({ metadata, data }: ConfigMap) => {
        seen.push(metadata.name ?? '');
        return (data?.['colors'] ?? '').split(',');
      },
    };
    const found = (color: string) =>
      informers.cache
        .indexed(byColor, color)
        .map(({ metadata }) => metadata.name)
        .sort();
    await client.put(CONFIG_MAPS, configMap('one', { colors: 'red,blue' }));
    void informers.run(stop.signal);
    await clock.advance(0);
    expect(seen).toEqual([]);
    expect([found('red'), found('green')]).toEqual([['one'], []]);
    await client.put(CONFIG_MAPS, configMap('two', { colors: 'red' }, 'b'));
    const merge = { data: { colors: 'green' } };
    await client.patch(CONFIG_MAPS, { namespace: 'a', name: 'one' }, { merge }, stop.signal);
    await clock.advance(0);
    const looks = seen.length;
    expect([found('red'), found('blue'), found('green')]).toEqual([['two'], [], ['one']]);
    expect(seen, 'to ask costs no look at objects').toHaveLength(looks);
    await remove('one');
    await clock.advance(0);
    expect(found('green')).toEqual([]);
    expect(informers.cache.indexed({ resource: SECRETS, valuesOf: () => ['x'] }, 'x')).toEqual([]);
  });

  it('report changes of a resource to those alone that ask for it, or for all', async () => {
    const seen: string[] = [];
    const note = (who: string) => (event: InformerEvent) =>
      seen.push(`${who} ${event.kind} ${event.resource.resource}`);
    informers.subscribe(note('first'), new Set([resourceId(PODS)]));
    const end = informers.subscribe(note('second'), new Set([resourceId(CONFIG_MAPS)]));
    informers.subscribe(note('third'));
    void informers.run(stop.signal);
    await clock.advance(0);
    await client.put(CONFIG_MAPS, configMap('one'));
    await clock.advance(0);
    expect(seen).toEqual(['second changed configmaps', 'third changed configmaps']);
    end();
    await client.put(CONFIG_MAPS, configMap('two'));
    await clock.advance(0);
    expect(seen.slice(2)).toEqual(['third changed configmaps']);
  });

  it('find an object of any resource by its uid, in its newest state, until it is gone', async () => {
    const put = await client.put(CONFIG_MAPS, configMap('one'));
    const uid = put.metadata.uid ?? '';
    void informers.run(stop.signal);
    await clock.advance(0);
    const found = () => informers.cache.withUid(uid);
    expect(found()).toMatchObject({ data: {} });
    await client.patch(CONFIG_MAPS, { namespace: 'a', name: 'one' }, { merge: { data: { v: '2' } } }, stop.signal);
    await clock.advance(0);
    expect(found()).toMatchObject({ data: { v: '2' } });
    // A new object with the same name is a different object, also after a list.
    client.breakWatches();
    await remove('one');
    const other = await client.put(CONFIG_MAPS, configMap('one'));
    client.compact();
    await clock.advance(1000);
    expect(found()).toBeUndefined();
    expect(informers.cache.withUid(other.metadata.uid ?? '')).toBe(informers.cache.list(CONFIG_MAPS)[0]);
  });

  it('go on where a broken watch ended, without telling anything twice', async () => {
    void informers.run(stop.signal);
    await clock.advance(0);
    await client.put(CONFIG_MAPS, configMap('one'));
    await clock.advance(0);
    client.breakWatches();
    await client.put(CONFIG_MAPS, configMap('two'));
    await clock.advance(1000);
    expect(changes).toEqual(['new one', 'new two']);
  });

  it('list again when the history is gone, and tell what happened meanwhile', async () => {
    await client.put(CONFIG_MAPS, configMap('stays'));
    await client.put(CONFIG_MAPS, configMap('goes'));
    void informers.run(stop.signal);
    await clock.advance(0);
    changes = [];
    client.failNext(({ verb }) => verb === 'watch', StatusError.unavailable('down'), 4);
    client.breakWatches();
    await clock.advance(0);
    await remove('goes');
    await client.put(CONFIG_MAPS, configMap('comes'));
    client.compact();
    await clock.advance(20_000);
    expect(changes.toSorted()).toEqual(['gone goes', 'new comes']);
    expect(names().toSorted()).toEqual(['comes', 'stays']);
  });

  it('open a watch again that says nothing for long', async () => {
    void informers.run(stop.signal);
    await clock.advance(0);
    const watches = { count: 0 };
    client.failNext(({ verb }) => {
      if (verb === 'watch') watches.count += 1;
      return false;
    }, StatusError.unavailable('never'));
    await clock.advance(120_000);
    expect(watches.count).toBe(2);
  });

  it('reach a revision that their watches have not heard of', async () => {
    void informers.run(stop.signal);
    await clock.advance(0);
    await client.put(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata: configMap('other').metadata });
    const reached = informers.reach(client.revision, stop.signal);
    await clock.advance(1000);
    await reached;
    expect(informers.cache.revision()).toBe(client.revision);
  });

  it('catch up with what their watches have not reported, each resource with its own version', async () => {
    void informers.run(stop.signal);
    await clock.advance(0);
    await client.put(SECRETS, { apiVersion: 'v1', kind: 'Secret', metadata: configMap('other').metadata });
    let state = 'behind';
    const caught = informers.catchUp(stop.signal).then(() => (state = 'caught up'));
    await clock.advance(10);
    expect(state).toBe('behind');
    await clock.advance(1000);
    await caught;
    expect(informers.cache.reached(CONFIG_MAPS)).toBeGreaterThan(client.revision * 256);
    expect(informers.cache.reached(PODS)).toBeGreaterThan(client.revision * 256);
  });

  it('cache what a resource is narrowed to, and say what that is', async () => {
    const metadata = { name: 'red', namespace: 'a', labels: { color: 'red' }, annotations: { a: 'b' } };
    const narrow = { ...CONFIG_MAPS, namespace: 'a', labelSelector: 'color=red', metadataOnly: true };
    informers = new Informers({ client, resources: [narrow], clock, random: () => 0.5, log: silentLog });
    const red = await client.put(CONFIG_MAPS, { ...configMap('red', { key: 'value' }), metadata });
    const blue = await client.put(CONFIG_MAPS, configMap('blue'));
    const far = await client.put(CONFIG_MAPS, { ...configMap('red'), metadata: { ...metadata, namespace: 'b' } });
    void informers.run(stop.signal);
    await clock.advance(0);
    const [cached, ...others] = informers.cache.list(CONFIG_MAPS);
    expect(others).toEqual([]);
    expect([cached?.metadata.name, cached?.data, cached?.metadata.annotations]).toEqual(['red', undefined, { a: 'b' }]);
    expect([red, blue, far].map((object) => informers.cache.selects(CONFIG_MAPS, object))).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('cache objects without managed fields where that is asked for, from lists and from watches', async () => {
    const managedFields = [{ manager: 'kubectl', operation: 'Apply' }];
    const managed = (name: string): ConfigMap => {
      const { metadata, ...rest } = configMap(name, { key: 'value' });
      return { ...rest, metadata: { ...metadata, annotations: { a: 'b' }, managedFields } };
    };
    const options = { client, resources: [CONFIG_MAPS], clock, random: () => 0.5, log: silentLog };
    const [dropping, keeping] = [new Informers({ ...options, managedFields: 'dropped' }), new Informers(options)];
    const listed = await client.put(CONFIG_MAPS, managed('listed'));
    void dropping.run(stop.signal);
    void keeping.run(stop.signal);
    await clock.advance(0);
    const watched = await client.put(CONFIG_MAPS, managed('watched'));
    await clock.advance(0);
    expect(keeping.cache.list(CONFIG_MAPS)).toEqual([listed, watched]);
    const bare = ({ metadata: { managedFields: _, ...metadata }, ...rest }: ConfigMap) => ({ ...rest, metadata });
    expect(dropping.cache.list(CONFIG_MAPS)).toEqual([bare(listed), bare(watched)]);
    expect(dropping.cache.list(CONFIG_MAPS).map(({ metadata }) => 'managedFields' in metadata)).toEqual([false, false]);
  });

  it('cache a resource of several namespaces, each by a watch of its own', async () => {
    const narrow = { ...CONFIG_MAPS, namespace: ['a', 'b'] };
    informers = new Informers({ client, resources: [narrow], clock, random: () => 0.5, log: silentLog });
    const found: string[] = [];
    informers.subscribe((event) => {
      if (event.kind === 'changed')
        for (const { object, old } of event.changes) found.push(`${old?.metadata.name} ${object?.metadata.name}`);
    });
    const [one, far] = [
      await client.put(CONFIG_MAPS, configMap('one')),
      await client.put(CONFIG_MAPS, configMap('x', {}, 'c')),
    ];
    await client.put(CONFIG_MAPS, configMap('two', {}, 'b'));
    client.failNext(
      ({ verb, resource }) => verb === 'list' && resource.resource === 'configmaps',
      StatusError.unavailable('away'),
    );
    void informers.run(stop.signal);
    await clock.advance(0);
    expect(informers.missing()).toEqual(['configmaps']);
    await clock.advance(1000);
    expect(informers.synced()).toBe(true);
    expect(names().sort()).toEqual(['one', 'two']);
    expect([one, far].map((object) => informers.cache.selects(CONFIG_MAPS, object))).toEqual([true, false]);
    const three = await client.put(CONFIG_MAPS, configMap('three', {}, 'b'));
    await clock.advance(0);
    expect(informers.cache.reached(CONFIG_MAPS, 'b')).toBe(Number(three.metadata.resourceVersion));
    client.breakWatches();
    client.compact();
    await remove('one');
    await clock.advance(10_000);
    expect(names().sort()).toEqual(['three', 'two']);
    expect(found.sort()).toEqual(['one undefined', 'undefined one', 'undefined three', 'undefined two']);
    const caught = informers.catchUp(stop.signal);
    await clock.advance(1000);
    await caught;
  });

  it('say how far each namespace is, so that one in which nothing happens delays no other', () => {
    const informer = new Informer(undefined, ['a', 'b']);
    informer.take({ kind: 'resync', objects: [configMap('one')], resourceVersion: '5' }, 'a');
    expect([informer.reachedIn('a'), informer.reached]).toEqual([5, 0]);
    informer.take({ kind: 'resync', objects: [configMap('two', {}, 'b')], resourceVersion: '6' }, 'b');
    informer.take({ kind: 'changes', changes: [], resourceVersion: '9' }, 'b');
    expect([informer.reachedIn('a'), informer.reachedIn('b'), informer.reached]).toEqual([5, 9, 5]);
    expect(informer.take({ kind: 'resync', objects: [], resourceVersion: '10' }, 'a')).toHaveLength(1);
    expect(informer.index.list('').map(({ metadata }) => metadata.name)).toEqual(['two']);
  });

  it('find pods by node and dependents by owner', async () => {
    const ownerReferences = [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'owner', controller: true }];
    const pod: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', namespace: 'a', ownerReferences },
      spec: { containers: [], nodeName: 'n1' },
    };
    await client.put(PODS, pod);
    await client.put(CONFIG_MAPS, {
      ...configMap('c'),
      metadata: { name: 'c', namespace: 'a', ownerReferences: [{ ...ownerReferences[0], controller: false } as never] },
    });
    void informers.run(stop.signal);
    await clock.advance(0);
    expect(informers.cache.onNode(PODS, 'n1')).toHaveLength(1);
    expect(informers.cache.controlledBy(PODS, 'a', 'owner')).toHaveLength(1);
    expect(informers.cache.controlledBy(PODS, 'b', 'owner'), 'in another namespace').toHaveLength(0);
    expect(informers.cache.controlledBy(CONFIG_MAPS, 'a', 'owner')).toHaveLength(0);
    expect(informers.cache.dependentsOf('owner')).toHaveLength(2);
  });

  it('find objects without a controller by namespace, also after changes of their owners and a new list', async () => {
    const reference = { apiVersion: 'v1', kind: 'X', name: 'x', uid: 'owner' };
    const owned = (name: string, namespace: string, controller: boolean | undefined): ConfigMap => {
      const ownerReferences = controller === undefined ? [] : [{ ...reference, controller }];
      return { ...configMap(name), metadata: { name, namespace, ownerReferences } };
    };
    const put = (...of: Parameters<typeof owned>) => client.put(CONFIG_MAPS, owned(...of));
    const change = (...of: Parameters<typeof owned>) => client.update(CONFIG_MAPS, owned(...of), stop.signal);
    const found = (namespace: string) =>
      informers.cache.withoutController(CONFIG_MAPS, namespace).map(({ metadata }) => metadata.name);
    await put('free', 'a', undefined);
    await put('dependent', 'a', false);
    await put('controlled', 'a', true);
    await put('elsewhere', 'b', undefined);
    void informers.run(stop.signal);
    await clock.advance(0);
    expect(found('a')).toEqual(['free', 'dependent']);
    expect(found('c')).toEqual([]);
    await change('free', 'a', true);
    await change('controlled', 'a', false);
    await put('new', 'a', undefined);
    await client.delete(CONFIG_MAPS, { name: 'dependent', namespace: 'a' }, {}, stop.signal);
    await clock.advance(0);
    expect(found('a').sort()).toEqual(['controlled', 'new']);
    client.compact();
    client.breakWatches();
    await put('later', 'a', undefined);
    await clock.advance(60_000);
    expect(found('a').sort()).toEqual(['controlled', 'later', 'new']);
    expect(found('b')).toEqual(['elsewhere']);
  });
});
