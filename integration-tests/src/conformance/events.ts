import {
  type CoreV1Event,
  type CoreV1EventList,
  type EventsV1Event,
  type KubernetesObject,
  V1MicroTime,
} from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { KINDS } from './kinds.ts';
import { expectNewer } from './outcome.ts';
import { Resource } from './resource.ts';
import { type Proof, proof, type World } from './world.ts';

const GONE_MS = 120_000;
const NAMES = ['test-event-1', 'test-event-2', 'test-event-3'] as const;
const FIRST_SEEN = new V1MicroTime('2017-09-19T13:49:16.000000Z');
const SEEN = new V1MicroTime('2017-09-19T13:49:11.000000Z');
const SEEN_AGAIN = new V1MicroTime('2017-09-19T13:49:16.000000Z');

function newEvent(namespace: string, name: string, label: string): EventsV1Event {
  return {
    metadata: { name, labels: { [label]: 'true' } },
    regarding: { namespace },
    eventTime: FIRST_SEEN,
    note: 'This is event-test',
    action: 'Do',
    reason: 'Test',
    type: 'Normal',
    reportingController: 'test-controller',
    reportingInstance: 'test-node',
  };
}

function coreEvent(namespace: string, name: string, label: string): CoreV1Event {
  return {
    metadata: { name, labels: { [label]: 'true' } },
    message: `This is ${name}`,
    reason: 'Test',
    type: 'Normal',
    count: 1,
    involvedObject: { namespace },
  };
}

/** Without what every write changes. */
function content<T extends KubernetesObject>(object: T): unknown {
  const { managedFields: _fields, resourceVersion: _version, ...metadata } = object.metadata ?? {};
  return JSON.parse(JSON.stringify({ ...object, metadata }));
}

async function isListed<T extends KubernetesObject>(events: Resource<T>, namespace: string, name: string) {
  const own = (await events.list()).items;
  const all = (await events.listAll()).items;
  const isIt = ({ metadata }: T) => metadata?.name === name && metadata.namespace === namespace;
  return { own: own.some(isIt), all: all.some(isIt) };
}

/** Three with a label, listed, and deleted at once. */
function collection<T extends KubernetesObject>(
  codename: string,
  open: (world: World, namespace: string) => Resource<T>,
  make: (namespace: string, name: string, label: string) => T,
): Proof {
  return proof(codename, async (world) => {
    const namespace = await world.namespace();
    const events = open(world, namespace);
    const label = world.unique('set');
    const selection = { labelSelector: `${label}=true` };
    for (const name of NAMES) await events.create(make(namespace, name, label));
    expect((await events.list(selection)).items.map(({ metadata }) => metadata?.name)).toEqual(NAMES);
    await events.deleteCollection(selection);
    await eventually('they are gone', GONE_MS, async () => (await events.list(selection)).items.length === 0);
  });
}

export const EVENT_PROOFS: readonly Proof[] = [
  proof(
    '[sig-instrumentation] Events API should ensure that an event can be fetched, patched, deleted, and listed [Conformance]',
    async (world) => {
      const namespace = await world.namespace();
      const events = new Resource<EventsV1Event>(world.cluster, KINDS.Event, namespace);
      const name = 'event-test';
      const created = await events.create(newEvent(namespace, name, 'testevent-constant'));
      expect(await isListed(events, namespace, name)).toEqual({ own: true, all: true });
      const bySource: CoreV1EventList = await world.core.listNamespacedEvent({
        namespace,
        fieldSelector: 'source=test-controller',
      });
      expect(bySource.items.map(({ metadata }) => metadata.name)).toEqual([name]);
      const byController = await events.list({ fieldSelector: 'reportingController=test-controller' });
      expect(byController.items.map(({ metadata }) => metadata?.name)).toEqual([name]);

      const before = await events.get(name);
      const series = { count: 2, lastObservedTime: SEEN };
      await events.patch(name, 'strategic', { series });
      const patched = await events.get(name);
      expectNewer(patched, created);
      expect(content(patched)).toEqual(content({ ...before, series }));
      const later = { ...before, series: { count: 100, lastObservedTime: SEEN_AGAIN } };
      // An Event may be written whatever happened to it since: its version says nothing.
      await events.replace({ ...later, metadata: { ...later.metadata, resourceVersion: '' } });
      expect(content(await events.get(name))).toEqual(content(later));
      await events.delete(name);
      expect(await isListed(events, namespace, name)).toEqual({ own: false, all: false });
    },
  ),

  collection(
    '[sig-instrumentation] Events API should delete a collection of events [Conformance]',
    (world, namespace) => new Resource<EventsV1Event>(world.cluster, KINDS.Event, namespace),
    newEvent,
  ),

  proof('[sig-instrumentation] Events should manage the lifecycle of an event [Conformance]', async (world) => {
    const namespace = await world.namespace();
    const events = new Resource<CoreV1Event>(world.cluster, KINDS.CoreEvent, namespace);
    const name = 'event-test';
    await events.create(coreEvent(namespace, name, 'testevent-constant'));
    expect(await isListed(events, namespace, name)).toEqual({ own: true, all: true });
    await events.patch(name, 'strategic', { message: 'patched' });
    const patched = await events.get(name);
    expect(patched.message).toBe('patched');
    const { resourceVersion: _version, managedFields: _fields, ...metadata } = patched.metadata;
    const changed = { ...patched, metadata, series: { count: 100, lastObservedTime: SEEN_AGAIN } };
    await events.replace(changed);
    expect(content(await events.get(name))).toEqual(content(changed));
    await events.delete(name);
    expect(await isListed(events, namespace, name)).toEqual({ own: false, all: false });
  }),

  collection(
    '[sig-instrumentation] Events should delete a collection of events [Conformance]',
    (world, namespace) => new Resource<CoreV1Event>(world.cluster, KINDS.CoreEvent, namespace),
    coreEvent,
  ),
];
