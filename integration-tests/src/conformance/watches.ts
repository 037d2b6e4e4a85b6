import type { V1ConfigMap } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { KINDS } from './kinds.ts';
import { retryOnConflict, versionOf } from './outcome.ts';
import { Resource } from './resource.ts';
import type { EventType, Watching } from './watching.ts';
import { type Proof, proof, proofAlone, type World } from './world.ts';

const LABEL = 'watch-this-configmap';
const WATCHERS = '[sig-api-machinery] Watchers should';
const CONCURRENT = 100;

/** ConfigMaps of one namespace with a label of one key, and watches for its values. */
class Subject {
  readonly maps: Resource<V1ConfigMap>;
  readonly #label: string;

  constructor(world: World, namespace: string) {
    this.maps = new Resource(world.cluster, KINDS.ConfigMap, namespace);
    // Watches are of all namespaces, as the official ones are, so the key is this test's own.
    this.#label = world.unique(LABEL);
  }

  watch(values: readonly string[], resourceVersion?: string): Promise<Watching<V1ConfigMap>> {
    const labelSelector = `${this.#label} in (${values.join(',')})`;
    return this.maps.watchAll({ labelSelector, ...(resourceVersion === undefined ? {} : { resourceVersion }) });
  }

  create(name: string, value: string): Promise<V1ConfigMap> {
    return this.maps.create({ metadata: { name, labels: { [this.#label]: value } } });
  }

  change(name: string, mutation: string, value?: string): Promise<V1ConfigMap> {
    return retryOnConflict(async () => {
      const found = await this.maps.get(name);
      const labels = { ...found.metadata?.labels, ...(value === undefined ? {} : { [this.#label]: value }) };
      const data = { ...found.data, mutation };
      return await this.maps.replace({ ...found, metadata: { ...found.metadata, labels }, data });
    });
  }
}

/** The very next event: nothing else may come before it. */
async function expectNext(watch: Watching<V1ConfigMap>, type: EventType, object: V1ConfigMap): Promise<V1ConfigMap> {
  const { name, uid } = object.metadata ?? {};
  const event = await watch.next(`${type} of ${name}`);
  expect(event).toMatchObject({ type, object: { metadata: { name, uid } } });
  if (type !== 'DELETED') {
    expect(event.object.metadata?.resourceVersion).toBe(object.metadata?.resourceVersion);
    expect(event.object.data).toEqual(object.data);
  }
  return event.object;
}

export const WATCH_PROOFS: readonly Proof[] = [
  proof(
    `${WATCHERS} observe add, update, and delete watch notifications on configmaps [Conformance]`,
    async (world) => {
      const subject = new Subject(world, await world.namespace());
      using watchA = await subject.watch(['a']);
      using watchB = await subject.watch(['b']);
      using watchBoth = await subject.watch(['a', 'b']);
      const expectOn = async (own: Watching<V1ConfigMap>, type: EventType, object: V1ConfigMap) => {
        for (const watch of [own, watchBoth]) await expectNext(watch, type, object);
      };
      const a = await subject.create('map-a', 'a');
      await expectOn(watchA, 'ADDED', a);
      await expectOn(watchA, 'MODIFIED', await subject.change('map-a', '1'));
      await expectOn(watchA, 'MODIFIED', await subject.change('map-a', '2'));
      await subject.maps.delete('map-a');
      await expectOn(watchA, 'DELETED', a);
      // The first that the watch for B sees is B's: nothing of A came before.
      const b = await subject.create('map-b', 'b');
      await expectOn(watchB, 'ADDED', b);
      await subject.maps.delete('map-b');
      await expectOn(watchB, 'DELETED', b);
      await expectOn(watchA, 'ADDED', await subject.create('map-c', 'a'));
    },
  ),

  proof(`${WATCHERS} be able to start watching from a specific resource version [Conformance]`, async (world) => {
    const subject = new Subject(world, await world.namespace());
    const created = await subject.create('map', 'a');
    const first = await subject.change('map', '1');
    const second = await subject.change('map', '2');
    await subject.maps.delete('map');
    using watch = await subject.watch(['a'], first.metadata?.resourceVersion);
    await expectNext(watch, 'MODIFIED', second);
    await expectNext(watch, 'DELETED', created);
  }),

  proof(
    `${WATCHERS} be able to restart watching from the last resource version observed by the previous watch [Conformance]`,
    async (world) => {
      const subject = new Subject(world, await world.namespace());
      const before = await subject.watch(['a']);
      const created = await subject.create('map', 'a');
      const first = await subject.change('map', '1');
      await expectNext(before, 'ADDED', created);
      const last = await expectNext(before, 'MODIFIED', first);
      before[Symbol.dispose]();
      const second = await subject.change('map', '2');
      using after = await subject.watch(['a'], last.metadata?.resourceVersion);
      await subject.maps.delete('map');
      await expectNext(after, 'MODIFIED', second);
      await expectNext(after, 'DELETED', created);
    },
  ),

  proof(
    `${WATCHERS} observe an object deletion if it stops meeting the requirements of the selector [Conformance]`,
    async (world) => {
      const subject = new Subject(world, await world.namespace());
      using watch = await subject.watch(['a']);
      const created = await subject.create('map', 'a');
      const first = await subject.change('map', '1');
      await subject.change('map', '1', 'wrong');
      await expectNext(watch, 'ADDED', created);
      await expectNext(watch, 'MODIFIED', first);
      await expectNext(watch, 'DELETED', created);
      // What happens while it does not match is not seen: the next event is its return.
      await subject.change('map', '2');
      const restored = await subject.change('map', '2', 'a');
      const third = await subject.change('map', '3');
      await subject.maps.delete('map');
      await expectNext(watch, 'ADDED', restored);
      await expectNext(watch, 'MODIFIED', third);
      await expectNext(watch, 'DELETED', created);
    },
  ),

  proofAlone(`${WATCHERS} receive events on concurrent watches in same order [Conformance]`, async (world) => {
    const maps = new Resource<V1ConfigMap>(world.cluster, KINDS.ConfigMap, await world.namespace());
    let resourceVersion = (await maps.list()).metadata?.resourceVersion ?? '';
    const watches: Watching<V1ConfigMap>[] = [];
    const stop = new AbortController();
    const producing = produce(maps, stop.signal);
    try {
      // Every event starts one more watch, and all of them must see the same versions from there on.
      for (let count = 0; count < CONCURRENT; count++) {
        watches.push(await maps.watch({ resourceVersion }));
        const events = await Promise.all(watches.map((watch) => watch.next()));
        const versions = new Set(events.map(({ object }) => versionOf(object)));
        expect(versions.size).toBe(1);
        resourceVersion = events[0]?.object.metadata?.resourceVersion ?? '';
      }
    } finally {
      stop.abort();
      for (const watch of watches) watch[Symbol.dispose]();
      await producing;
    }
  }),
];

/** Creates, changes and deletes ConfigMaps, one after the other, until it is told to stop. */
async function produce(maps: Resource<V1ConfigMap>, stop: AbortSignal): Promise<void> {
  for (let index = 0; !stop.aborted; index++) {
    const name = `cm-${index}`;
    const made = await maps.create({ metadata: { name } });
    await maps.replace({ ...made, data: { mutation: String(index) } });
    if (index % 3 === 0) await maps.delete(name);
  }
}
