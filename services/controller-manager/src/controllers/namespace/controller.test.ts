import {
  API_SERVICES,
  CONFIG_MAPS,
  type ConfigMap,
  CUSTOM_RESOURCE_DEFINITIONS,
  HORIZONTAL_POD_AUTOSCALERS,
  type KubeObject,
  NAMESPACES,
  type Resource,
  StatusError,
} from '@gantry/objects';
import type { ObjectWrite } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import { establishedDefinition, FLUNDERS, wardleApiService, WIDGETS } from '@gantry/controller-runtime/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { type ControllerHarness, createControllerHarness } from '../../testing/controller-harness.ts';
import { namespaceController } from './controller.ts';

const KEY = { namespace: 'a', name: 'x' };

it('takes a namesake of what it has deleted for no failure', async () => {
  const { clock, client, stop, run } = createControllerHarness();
  const configMap: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: KEY };
  await client.put(NAMESPACES, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'a', finalizers: ['example.org/hold'] },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  });
  await client.delete(NAMESPACES, { namespace: '', name: 'a' }, {}, stop.signal);
  await client.put(CONFIG_MAPS, configMap);
  let acted: 'no' | 'yes' = 'no';
  const meanwhile = async ({ verb }: ObjectWrite) => {
    if (verb !== 'delete' || acted === 'yes') return;
    acted = 'yes';
    await client.delete(CONFIG_MAPS, KEY, {}, stop.signal);
    // Stands for an object that another apiserver was still creating when the deletion began.
    await client.put(CONFIG_MAPS, { ...configMap, metadata: { ...KEY, finalizers: ['example.org/hold'] } });
  };
  run([namespaceController], { meanwhile });
  await clock.advance(100);
  expect(client.all(CONFIG_MAPS)[0]?.metadata.deletionTimestamp).toBeDefined();
  const failure = client
    .all(NAMESPACES)[0]
    ?.status?.conditions?.find(({ type }) => type === 'NamespaceDeletionContentFailure');
  expect(failure).toMatchObject({ status: 'False' });
  const told = client.writes.filter(({ verb, resource }) => verb === 'update' && resource.resource === 'namespaces');
  expect(told).toHaveLength(1);
});

describe('a namespace that is deleted', () => {
  const FOUND = { resource: 'flunders', kind: 'Flunder', namespaced: true, verbs: ['get', 'list', 'delete'] };
  let clock: ControllerHarness['clock'];
  let client: ControllerHarness['client'];
  let extension: FakeObjectClient;
  let stop: AbortController;
  let start: ControllerHarness['run'];
  let server: 'answers' | 'down';
  beforeEach(async () => {
    ({ clock, client, stop, run: start } = createControllerHarness());
    extension = new FakeObjectClient(clock);
    server = 'answers';
    await client.put(NAMESPACES, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'a', finalizers: ['example.org/hold'] },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
  });

  const run = async () => {
    const discover = async () => {
      if (server === 'down') throw StatusError.unavailable('down');
      return [FOUND];
    };
    const aggregated = { client: extension, discover };
    start([namespaceController], { aggregated });
    await clock.advance(100);
  };
  const leave = async () => {
    await client.delete(NAMESPACES, { namespace: '', name: 'a' }, {}, stop.signal);
    await clock.advance(100);
  };
  const object = (kind: string, group: string): KubeObject => ({
    apiVersion: `${group}/v1`,
    kind,
    metadata: { name: 'x', namespace: 'a' },
  });
  const serveFlunders = () => client.put(API_SERVICES, wardleApiService());
  const namespace = () => client.all(NAMESPACES)[0];
  const condition = (type: string) => namespace()?.status?.conditions?.find((one) => one.type === type);

  it('counts what has several versions once', async () => {
    const autoscalers: Resource = HORIZONTAL_POD_AUTOSCALERS;
    await client.put<KubeObject>(autoscalers, {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'x', namespace: 'a', finalizers: ['example.org/hold'] },
    });
    await run();
    await leave();
    const message = 'Some resources are remaining: horizontalpodautoscalers.autoscaling has 1 resource instances';
    expect(condition('NamespaceContentRemaining')).toMatchObject({ status: 'True', message });
  });

  it('takes its custom resources with it', async () => {
    await client.put(CUSTOM_RESOURCE_DEFINITIONS, establishedDefinition());
    await client.put(WIDGETS, object('Widget', 'example.com'));
    await run();
    await leave();
    expect(client.all(WIDGETS)).toEqual([]);
    expect(namespace()?.spec?.finalizers).toEqual([]);
  });

  it('stays while an API server that lags does not know a definition yet, and custom objects are inside', async () => {
    await client.put(CUSTOM_RESOURCE_DEFINITIONS, establishedDefinition());
    await client.put(WIDGETS, object('Widget', 'example.com'));
    await run();
    let server: 'lags' | 'knows' = 'lags';
    const notFound = StatusError.notFound({ group: '', resource: '' }, '');
    client.failNext(
      ({ verb, resource }) => server === 'lags' && verb === 'list' && resource.resource === 'widgets',
      notFound,
      1000,
    );
    await leave();
    expect(client.all(WIDGETS)).toHaveLength(1);
    expect(namespace()?.spec?.finalizers).toEqual(['kubernetes']);
    expect(condition('NamespaceDeletionContentFailure')).toMatchObject({ status: 'True' });
    server = 'knows';
    await clock.advance(40_000);
    expect(client.all(WIDGETS)).toEqual([]);
    expect(namespace()?.spec?.finalizers).toEqual([]);
  });

  it('takes objects with it whose definition its controller has not heard of yet', async () => {
    await run();
    const watched = client.failNext(
      ({ verb, resource }) => verb === 'watch' && resource.resource === 'customresourcedefinitions',
      StatusError.unavailable('down'),
      1000,
    );
    expect(watched).toBeUndefined();
    client.breakWatches();
    await clock.advance(10);
    await client.put(CUSTOM_RESOURCE_DEFINITIONS, establishedDefinition());
    await client.put(WIDGETS, object('Widget', 'example.com'));
    await leave();
    await clock.advance(10_000);
    expect(client.all(WIDGETS)).toEqual([]);
    expect(namespace()?.spec?.finalizers).toEqual([]);
  });

  it('takes with it what another server keeps', async () => {
    await serveFlunders();
    await extension.put(FLUNDERS, object('Flunder', 'wardle.example.com'));
    await run();
    await leave();
    expect(extension.all(FLUNDERS)).toEqual([]);
    expect(namespace()?.spec?.finalizers).toEqual([]);
  });

  it('waits for another server that does not say what it keeps', async () => {
    await serveFlunders();
    await extension.put(FLUNDERS, object('Flunder', 'wardle.example.com'));
    await client.put(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: KEY });
    await run();
    server = 'down';
    extension.failNext(() => server === 'down', StatusError.unavailable('the server is currently unable'), 1000);
    await leave();
    expect(client.all(CONFIG_MAPS)).toEqual([]);
    expect(namespace()?.spec?.finalizers).toEqual(['kubernetes']);
    expect(condition('NamespaceDeletionDiscoveryFailure')).toMatchObject({ status: 'True', reason: 'DiscoveryFailed' });
    expect(condition('NamespaceDeletionContentFailure')).toMatchObject({
      status: 'True',
      message: 'Failed to delete all resource types, 1 remaining: the server is currently unable',
    });
    server = 'answers';
    await clock.advance(40_000);
    expect(extension.all(FLUNDERS)).toEqual([]);
    expect(namespace()?.spec?.finalizers).toEqual([]);
  });
});
