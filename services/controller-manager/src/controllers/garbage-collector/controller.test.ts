import type { ObjectWrite } from '@gantry/client';
import { establishedDefinition, WIDGETS } from '@gantry/controller-runtime/testing';
import {
  CONFIG_MAPS,
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  type KubeObject,
  type ObjectMeta,
  type OwnerReference,
  type Resource,
  StatusError,
} from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { beforeEach, describe, expect, it } from 'vitest';
import { garbageMeter } from '../../metrics/meters.ts';
import { type ControllerHarness, createControllerHarness } from '../../testing/controller-harness.ts';
import { createGarbageCollector } from './controller.ts';

const METRICS = createMetrics();
/** How often resources could not be listed. */
const failures = async () =>
  Number(/^garbagecollector_controller_resources_sync_error_total (.*)$/m.exec((await METRICS.render()).text)?.[1]);

const CLUSTER = { scope: 'Cluster' };
/** The response of an API server to an unknown path. */
const UNSERVED = new StatusError('NotFound', 'the server could not find the requested resource', { details: {} });

describe('the garbage collector with custom resources', () => {
  let clock: ControllerHarness['clock'];
  let client: ControllerHarness['client'];
  let events: ControllerHarness['events'];
  let stop: AbortController;
  let start: ControllerHarness['run'];
  beforeEach(() => {
    ({ clock, client, stop, events, run: start } = createControllerHarness());
  });

  const run = async () => {
    const controllers = [createGarbageCollector(garbageMeter(METRICS))];
    start(controllers);
    await clock.advance(1000);
  };
  const define = (spec: Partial<CustomResourceDefinition['spec']> = {}) =>
    client.put(CUSTOM_RESOURCE_DEFINITIONS, establishedDefinition(spec));
  const undefine = () => remove(CUSTOM_RESOURCE_DEFINITIONS, 'widgets.example.com', '');
  const widget = (name: string, metadata: Partial<ObjectMeta> = {}) =>
    client.put(WIDGETS, {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name, namespace: 'a', ...metadata },
    });
  const configMap = (name: string, ownerReferences: OwnerReference[], namespace = 'a') =>
    client.put(CONFIG_MAPS, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace, ownerReferences },
    });
  const remove = async (resource: Resource, name: string, namespace = 'a') => {
    await client.delete(resource, { namespace, name }, {}, stop.signal);
    await clock.advance(1000);
  };
  const owned = (owner: KubeObject, more: Partial<OwnerReference> = {}): OwnerReference => {
    const { apiVersion, kind, metadata } = owner;
    return { apiVersion, kind, name: metadata.name ?? '', uid: metadata.uid ?? '', ...more };
  };
  const gone = (more: Partial<OwnerReference> = {}): OwnerReference => ({
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    name: 'never',
    uid: '00000000-0000-0000-0000-000000000000',
    ...more,
  });
  const names = (resource: Resource) => client.all(resource).map(({ metadata }) => metadata.name);
  const references = (name: string) =>
    client.all(CONFIG_MAPS).find(({ metadata }) => metadata.name === name)?.metadata.ownerReferences;

  it('collects what a custom resource owned', async () => {
    await define();
    const owner = await widget('owner');
    await configMap('owned', [owned(owner)]);
    await configMap('other', [owned(await widget('lives'))]);
    await run();
    expect(names(CONFIG_MAPS)).toEqual(['owned', 'other']);
    await remove(WIDGETS, 'owner');
    expect(names(CONFIG_MAPS)).toEqual(['other']);
  });

  it('keeps what has been given a living owner since it was read', async () => {
    const living = await configMap('living', []);
    await configMap('owned', [gone({ apiVersion: 'v1', kind: 'ConfigMap' })]);
    let acted: 'no' | 'yes' = 'no';
    const meanwhile = async ({ verb, resource }: ObjectWrite) => {
      if (acted === 'yes' || verb !== 'delete' || resource.resource !== CONFIG_MAPS.resource) return;
      acted = 'yes';
      const merge = { metadata: { ownerReferences: [owned(living)] } };
      await client.patch(CONFIG_MAPS, { namespace: 'a', name: 'owned' }, { merge }, stop.signal);
    };
    start([createGarbageCollector(garbageMeter(METRICS))], { meanwhile });
    await clock.advance(5000);
    expect(acted).toBe('yes');
    expect(references('owned')).toEqual([owned(living)]);
  });

  it('completes no foreground deletion before it has listed every resource that may hold dependents', async () => {
    await define();
    const owner = await configMap('owner', []);
    await widget('dependent', { ownerReferences: [owned(owner, { blockOwnerDeletion: true })] });
    const merge = {
      metadata: { finalizers: ['foregroundDeletion'], deletionTimestamp: '2026-01-01T00:00:00Z' },
    };
    await client.patch(CONFIG_MAPS, { namespace: 'a', name: 'owner' }, { merge }, stop.signal);
    const listed = Promise.withResolvers<void>();
    start([createGarbageCollector(garbageMeter(METRICS))], {
      reach: async (_signal, { verb, resource }) => {
        if (verb === 'list' && resource === WIDGETS.resource) await listed.promise;
      },
    });
    await clock.advance(5000);
    expect([names(CONFIG_MAPS), names(WIDGETS)]).toEqual([['owner'], ['dependent']]);
    listed.resolve();
    await clock.advance(1000);
    const deleted = client.writes.flatMap((write) =>
      write.verb === 'delete' && write.resource.resource !== 'events' ? [write.key.name] : [],
    );
    expect(deleted).toEqual(['dependent']);
    expect([names(CONFIG_MAPS), names(WIDGETS)]).toEqual([[], []]);
  });

  it('collects custom resources that something owned', async () => {
    await define();
    const owner = await configMap('owner', []);
    await widget('owned', { ownerReferences: [owned(owner)] });
    await run();
    await remove(CONFIG_MAPS, 'owner');
    expect(names(WIDGETS)).toEqual([]);
  });

  it('collects what has lost its owner before it was started', async () => {
    await define();
    await configMap('left', [gone()]);
    await widget('left', { ownerReferences: [gone()] });
    await run();
    expect(names(CONFIG_MAPS)).toEqual([]);
    expect(names(WIDGETS)).toEqual([]);
  });

  it('knows an owner by any version of its kind', async () => {
    await define({
      versions: [
        { name: 'v1', served: true, storage: false },
        { name: 'v2', served: true, storage: true },
      ],
    });
    const owner = await widget('owner');
    await configMap('owned', [owned(owner), gone({ apiVersion: 'example.com/v1beta1' })]);
    await run();
    expect(references('owned')).toEqual([owned(owner)]);
    await remove(WIDGETS, 'owner');
    expect(names(CONFIG_MAPS)).toEqual([]);
  });

  it('keeps dependents of a kind that is not served, until it is', async () => {
    await configMap('waits', [gone()]);
    await configMap('keeps', [gone({ kind: 'Gadget' })]);
    await run();
    await clock.advance(200_000);
    expect(names(CONFIG_MAPS)).toEqual(['waits', 'keeps']);
    await define();
    await clock.advance(1000);
    expect(names(CONFIG_MAPS)).toEqual(['keeps']);
  });

  it.each([
    ['an answer about objects', StatusError.internal('conversion webhook failed')],
    ['a server', UNSERVED],
  ])('does not treat an owner as absent whose kind is without %s', async (_, error) => {
    await define();
    await configMap('owned', [owned(await widget('owner'))]);
    await configMap('left', [gone()]);
    let state: 'broken' | 'mended' = 'broken';
    client.failNext(({ resource }) => resource.resource === 'widgets' && state === 'broken', error, 10_000);
    const before = await failures();
    await run();
    await clock.advance(100_000);
    expect(names(CONFIG_MAPS)).toEqual(['owned', 'left']);
    expect(await failures()).toBeGreaterThan(before);
    state = 'mended';
    await clock.advance(100_000);
    expect(names(CONFIG_MAPS)).toEqual(['owned']);
    const counted = await failures();
    await clock.advance(100_000);
    expect(await failures()).toBe(counted);
  });

  it('remembers an observed deletion when the kind is no longer served', async () => {
    await define();
    await configMap('owned', [owned(await widget('owner'))]);
    await run();
    client.failNext(({ resource, verb }) => resource.resource === 'widgets' && verb === 'get', UNSERVED, 10_000);
    await client.delete(WIDGETS, { namespace: 'a', name: 'owner' }, {}, stop.signal);
    await undefine();
    expect(names(CONFIG_MAPS)).toEqual([]);
  });

  it('collects what was owned by what went with its definition, though only of that it hears', async () => {
    const metadata = { name: 'widgets.example.com', finalizers: ['customresourcecleanup.apiextensions.k8s.io'] };
    await client.put(CUSTOM_RESOURCE_DEFINITIONS, { ...establishedDefinition(), metadata });
    await configMap('owned', [owned(await widget('owner'))]);
    await run();
    client.failNext(({ resource }) => resource.resource === 'widgets', UNSERVED, 10_000);
    await undefine();
    await clock.advance(100_000);
    expect(names(CONFIG_MAPS)).toEqual(['owned']);
    const [going = expect.unreachable()] = client.all(CUSTOM_RESOURCE_DEFINITIONS);
    const emptied = { type: 'Terminating', status: 'False', reason: 'InstanceDeletionCompleted' };
    const object = {
      ...going,
      status: { ...going.status, conditions: [...(going.status?.conditions ?? []), emptied] },
    };
    await client.updateStatus(CUSTOM_RESOURCE_DEFINITIONS, object, stop.signal);
    await clock.advance(1000);
    expect(names(CONFIG_MAPS)).toEqual([]);
  });

  it('takes nothing for deleted because its definition is', async () => {
    await define();
    await configMap('owned', [owned(await widget('owner'))]);
    await run();
    client.failNext(({ resource }) => resource.resource === 'widgets', UNSERVED, 10_000);
    await undefine();
    await clock.advance(100_000);
    expect(names(CONFIG_MAPS)).toEqual(['owned']);
  });

  it('lets owners of cluster scope own in every namespace', async () => {
    await define(CLUSTER);
    const owner = await widget('owner', { namespace: '' });
    await configMap('here', [owned(owner)]);
    await configMap('there', [owned(owner)], 'b');
    await run();
    expect(names(CONFIG_MAPS)).toEqual(['here', 'there']);
    await remove(WIDGETS, 'owner', '');
    expect(names(CONFIG_MAPS)).toEqual([]);
  });

  it('reports owners in another namespace, and does not count them', async () => {
    await define();
    const owner = await widget('owner', { namespace: 'b' });
    await configMap('stray', [owned(owner)]);
    await run();
    expect(names(CONFIG_MAPS)).toEqual([]);
    const told = events().find(({ reason }) => reason === 'OwnerRefInvalidNamespace');
    const reference = `[example.com/v1/Widget, namespace: a, name: owner, uid: ${owner.metadata.uid}]`;
    expect(told?.message).toBe(`ownerRef ${reference} does not exist in namespace "a"`);
  });

  it('says nothing of namespaces where an owner has another name', async () => {
    await define();
    const owner = await widget('owner');
    await configMap('stray', [owned(owner, { name: 'other' })]);
    await run();
    expect(names(CONFIG_MAPS)).toEqual([]);
    expect(events()).toEqual([]);
  });

  it('orphans dependents of every kind before it lets a custom resource go', async () => {
    await define();
    const owner = await widget('owner', { finalizers: ['orphan'] });
    await configMap('kept', [owned(owner)]);
    await widget('kept', { ownerReferences: [owned(owner)] });
    await run();
    await remove(WIDGETS, 'owner');
    expect(names(WIDGETS)).toEqual(['kept']);
    expect(names(CONFIG_MAPS)).toEqual(['kept']);
    expect(references('kept') ?? []).toEqual([]);
  });

  it('lets a custom resource go in the foreground when all that it blocks on is gone', async () => {
    await define();
    const owner = await widget('owner', { finalizers: ['foregroundDeletion'] });
    const held = await configMap('held', [owned(owner, { blockOwnerDeletion: true })]);
    const key = { namespace: 'a', name: 'held' };
    const object = { ...held, metadata: { ...held.metadata, finalizers: ['example.org/hold'] } };
    await client.update(CONFIG_MAPS, object, stop.signal);
    await run();
    await remove(WIDGETS, 'owner');
    expect(names(WIDGETS)).toEqual(['owner']);
    const patch = { metadata: { finalizers: null } };
    const patchType = 'application/merge-patch+json';
    await client.write({ verb: 'patch', resource: CONFIG_MAPS, key, patch, patchType }, stop.signal);
    await clock.advance(1000);
    expect(names(CONFIG_MAPS)).toEqual([]);
    expect(names(WIDGETS)).toEqual([]);
  });

  it('lets an owner go in the foreground when the last that it blocks on has left it', async () => {
    await define();
    const owner = await widget('owner', { finalizers: ['foregroundDeletion'] });
    const held = await configMap('held', [owned(owner, { blockOwnerDeletion: true })]);
    const object = { ...held, metadata: { ...held.metadata, finalizers: ['example.org/hold'] } };
    await client.update(CONFIG_MAPS, object, stop.signal);
    await run();
    await remove(WIDGETS, 'owner');
    expect(names(WIDGETS)).toEqual(['owner']);
    const key = { namespace: 'a', name: 'held' };
    const patch = { metadata: { ownerReferences: null } };
    const patchType = 'application/merge-patch+json';
    await client.write({ verb: 'patch', resource: CONFIG_MAPS, key, patch, patchType }, stop.signal);
    await clock.advance(1000);
    expect(names(WIDGETS)).toEqual([]);
    expect(names(CONFIG_MAPS)).toEqual(['held']);
  });

  it('finishes after a restart what another collector has begun', async () => {
    await define();
    const owner = await widget('owner', { finalizers: ['foregroundDeletion'] });
    await configMap('owned', [owned(owner, { blockOwnerDeletion: true })]);
    await remove(WIDGETS, 'owner');
    expect(names(WIDGETS)).toEqual(['owner']);
    await run();
    expect(names(CONFIG_MAPS)).toEqual([]);
    expect(names(WIDGETS)).toEqual([]);
  });
});
