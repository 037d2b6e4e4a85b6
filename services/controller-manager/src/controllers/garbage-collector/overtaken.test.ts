import type { ObjectWrite } from '@gantry/client';
import { establishedDefinition, WIDGETS } from '@gantry/controller-runtime/testing';
import { CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, type KubeObject, type OwnerReference } from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { beforeEach, describe, expect, it } from 'vitest';
import { garbageMeter } from '../../metrics/meters.ts';
import { type ControllerHarness, createControllerHarness } from '../../testing/controller-harness.ts';
import { createGarbageCollector } from './controller.ts';

const METRICS = createMetrics();

const OWNED = { namespace: 'a', name: 'owned' };
const GONE: OwnerReference = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: 'never',
  uid: '00000000-0000-0000-0000-000000000000',
};

describe('the garbage collector, overtaken by others', () => {
  let clock: ControllerHarness['clock'];
  let client: ControllerHarness['client'];
  let stop: AbortController;
  let start: ControllerHarness['run'];
  beforeEach(() => {
    ({ clock, client, stop, run: start } = createControllerHarness());
  });

  const configMap = (name: string, metadata: Partial<KubeObject['metadata']> = {}) =>
    client.put(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'a', ...metadata } });
  const ownerOf = ({ apiVersion, kind, metadata }: KubeObject): OwnerReference => ({
    apiVersion,
    kind,
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
  });
  const owned = () => client.all(CONFIG_MAPS).find(({ metadata }) => metadata.name === 'owned');
  /** Runs the collector. Other clients act once, just before its first write with this verb. */
  const collectWhile = async (verb: ObjectWrite['verb'], act: () => Promise<unknown>) => {
    let acted: 'no' | 'yes' = 'no';
    const meanwhile = async (write: ObjectWrite) => {
      if (acted === 'yes' || write.verb !== verb || write.resource.resource !== 'configmaps') return;
      acted = 'yes';
      await act();
    };
    start([createGarbageCollector(garbageMeter(METRICS))], { meanwhile });
    await clock.advance(1000);
    expect(acted).toBe('yes');
  };

  it('keeps an object that is given another owner', async () => {
    const owner = await configMap('owner');
    await configMap('owned', { ownerReferences: [GONE] });
    await collectWhile('delete', async () => {
      const current = await client.get(CONFIG_MAPS, OWNED, stop.signal);
      const metadata = { ...current.metadata, ownerReferences: [GONE, ownerOf(owner)] };
      await client.update(CONFIG_MAPS, { ...current, metadata }, stop.signal);
    });
    expect(owned()?.metadata.ownerReferences).toEqual([ownerOf(owner)]);
  });

  it('keeps an object that was created again', async () => {
    await configMap('owned', { ownerReferences: [GONE] });
    await collectWhile('delete', async () => {
      await client.delete(CONFIG_MAPS, OWNED, {}, stop.signal);
      await configMap('owned');
    });
    expect(owned()).toBeDefined();
  });

  it('keeps owners that others add while it drops one', async () => {
    const [one, two] = [await configMap('one'), await configMap('two')];
    await configMap('owned', { ownerReferences: [GONE, ownerOf(one)] });
    await collectWhile('patch', async () => {
      const current = await client.get(CONFIG_MAPS, OWNED, stop.signal);
      const metadata = { ...current.metadata, ownerReferences: [GONE, ownerOf(one), ownerOf(two)] };
      await client.update(CONFIG_MAPS, { ...current, metadata }, stop.signal);
    });
    await clock.advance(60_000);
    expect(owned()?.metadata.ownerReferences).toEqual([ownerOf(one), ownerOf(two)]);
  });

  it('collects an object whose owner was created again', async () => {
    const owner = await configMap('owner');
    await configMap('owned', { ownerReferences: [{ ...ownerOf(owner), uid: 'of an owner before' }] });
    start([createGarbageCollector(garbageMeter(METRICS))]);
    await clock.advance(1000);
    expect(owned()).toBeUndefined();
  });

  it('holds back a foreground deletion until new resources have been listed', async () => {
    const listed = Promise.withResolvers<void>();
    const list = client.list.bind(client);
    client.list = async (resource, options, signal) => {
      if (resource.group === 'example.com') await listed.promise;
      return list(resource, options, signal);
    };
    await client.put(CUSTOM_RESOURCE_DEFINITIONS, establishedDefinition());
    const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['foregroundDeletion'] };
    const owner = await configMap('owned', deleted);
    await client.put(WIDGETS, {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: {
        name: 'w',
        namespace: 'a',
        ownerReferences: [{ ...ownerOf(owner), blockOwnerDeletion: true }],
        finalizers: ['example.com/hold'],
      },
    });
    start([createGarbageCollector(garbageMeter(METRICS))]);
    await clock.advance(1000);
    expect(owned()).toBeDefined();
    listed.resolve();
    await clock.advance(60_000);
    expect(client.all(WIDGETS)[0]?.metadata.deletionTimestamp).toBeDefined();
    expect(owned()).toBeDefined();
  });
});
