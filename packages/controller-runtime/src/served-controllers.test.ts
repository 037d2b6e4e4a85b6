import {
  API_SERVICES,
  CUSTOM_RESOURCE_DEFINITIONS,
  isReason,
  type KubeObject,
  type ObjectKey,
  type Resource,
  StatusError,
} from '@gantry/objects';
import { ManualClock } from '@gantry/base/testing';
import { type DiscoveredResource, discoverResources } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ControllerContext, ControllerSpec } from './controller.ts';
import { createFenceHolder } from './leader.ts';
import { createManager, type Manager } from './manager.ts';
import { FLUNDERS, wardleApiService } from './testing/api-services.ts';
import { establishedDefinition, WIDGETS } from './testing/custom-definitions.ts';
import { silentLog } from './testing/silent-log.ts';

const GADGETS: Resource = { ...WIDGETS, resource: 'gadgets', kind: 'Gadget' };
const FLUNDERS_FOUND: DiscoveredResource = {
  resource: 'flunders',
  kind: 'Flunder',
  namespaced: true,
  verbs: ['get', 'list', 'watch', 'delete'],
};

function object(kind: string, name: string, group = 'example.com'): KubeObject {
  const metadata = { name, namespace: 'a', annotations: { big: 'x' }, labels: { l: 'x' } };
  return { apiVersion: `${group}/v1`, kind, metadata, spec: { size: 1 } } as KubeObject;
}

describe('a controller of custom and aggregated resources', () => {
  let clock: ManualClock;
  let local: FakeObjectClient;
  let remote: FakeObjectClient;
  let stop: AbortController;
  let seen: string[];
  let context: ControllerContext | undefined;
  let discover: () => Promise<readonly DiscoveredResource[]>;
  let managers: Manager[];
  beforeEach(() => {
    clock = new ManualClock();
    local = new FakeObjectClient(clock);
    remote = new FakeObjectClient(clock);
    stop = new AbortController();
    seen = [];
    managers = [];
    context = undefined;
    discover = async () => [FLUNDERS_FOUND];
  });
  afterEach(() => stop.abort());

  const key = (name: string): ObjectKey => ({ namespace: '', name });
  const controller = (name = 'test'): ControllerSpec => ({
    name,
    eventSource: name,
    watches: [],
    served: {
      wants: () => true,
      keys: ({ resource }, now, old) => [
        key(`${resource}/${(now ?? old)?.metadata.name}${now === undefined ? ' gone' : ''}`),
      ],
      onSync: ({ resource }, cache) => [key(`${resource} shifts with ${cache.list({ ...WIDGETS, resource }).length}`)],
    },
    reconcile: async ({ name: of }, given) => {
      context = given;
      seen.push(of);
      return {};
    },
  });
  const start = async (...controllers: readonly ControllerSpec[]) => {
    const manager = createManager({
      client: local,
      aggregated: { client: remote, discover: () => discover() },
      fences: createFenceHolder(),
      component: 'kube-test',
      identity: 'me',
      controllers,
      clock,
      random: () => 0.5,
      log: silentLog,
    });
    managers.push(manager);
    void manager.run(stop.signal);
    await clock.advance(0);
    void manager.leader.lead({ electionKey: '/e', epoch: local.revision, incarnation: 'i' }, stop.signal);
    await clock.advance(100);
    return manager;
  };
  const define = (crd = establishedDefinition()) => local.put(CUSTOM_RESOURCE_DEFINITIONS, crd);

  it('gets objects of kinds that are defined before and after its start', async () => {
    await define();
    await local.put(WIDGETS, object('Widget', 'early'));
    const manager = await start(controller());
    expect(seen).toContain('widgets/early');
    seen = [];
    await local.put(GADGETS, object('Gadget', 'waits'));
    await define(establishedDefinition({}, 'Gadget'));
    await clock.advance(100);
    expect(seen).toEqual(['gadgets/waits', 'gadgets shifts with 1']);
    expect(context?.served.findKind('example.com', 'Gadget')).toMatchObject({ resource: 'gadgets' });
    expect(manager.cache.get(GADGETS, { namespace: 'a', name: 'waits' })).toMatchObject({
      apiVersion: 'example.com/v1',
      kind: 'Gadget',
      metadata: { name: 'waits', labels: { l: 'x' } },
    });
  });

  it('keeps the metadata alone, without annotations', async () => {
    await define();
    await local.put(WIDGETS, object('Widget', 'one'));
    const { cache } = await start(controller());
    const [kept] = cache.list(WIDGETS);
    expect(kept).not.toHaveProperty('spec');
    expect(kept?.metadata.annotations).toBeUndefined();
  });

  it('shares one cache of a resource with other controllers', async () => {
    await define();
    let count = 0;
    local.failNext(
      ({ verb, resource }) => verb === 'list' && resource.resource === 'widgets' && ++count > 1,
      StatusError.unavailable('listed twice'),
    );
    await start(controller('one'), controller('other'));
    await local.put(WIDGETS, object('Widget', 'both'));
    await clock.advance(100);
    expect(seen).toEqual(['widgets/both', 'widgets/both']);
    expect(count).toBe(1);
  });

  it('goes on when a resource cannot be listed, and takes that up when it can', async () => {
    await define();
    await define(establishedDefinition({}, 'Gadget'));
    await local.put(WIDGETS, object('Widget', 'well'));
    await local.put(GADGETS, object('Gadget', 'broken'));
    let isBroken: 'yes' | 'no' = 'yes';
    local.failNext(
      ({ resource }) => resource.resource === 'gadgets' && isBroken === 'yes',
      StatusError.internal('conversion webhook failed'),
      1000,
    );
    const manager = await start(controller());
    expect(seen).toEqual(['widgets/well']);
    expect(context?.served.isSynced(GADGETS)).toBe(false);
    expect(manager.missing()).toEqual([]);
    isBroken = 'no';
    await clock.advance(20_000);
    expect(seen.slice(1)).toEqual(['gadgets/broken', 'gadgets shifts with 1']);
    expect(context?.served.isSynced(GADGETS)).toBe(true);
  });

  it('keeps what it knows when another version of the same objects is served', async () => {
    await define();
    await local.put(WIDGETS, object('Widget', 'stays'));
    await start(controller());
    seen = [];
    const crd = await local.get(CUSTOM_RESOURCE_DEFINITIONS, key('widgets.example.com'), stop.signal);
    const versions = [
      { name: 'v1', served: false, storage: false },
      { name: 'v2', served: true, storage: true },
    ];
    await local.update(
      CUSTOM_RESOURCE_DEFINITIONS,
      { ...crd, spec: establishedDefinition({ versions }).spec },
      stop.signal,
    );
    await clock.advance(100);
    expect(seen).toEqual([]);
    expect(context?.served.find(WIDGETS)?.version).toBe('v2');
    expect(context?.cache.list({ ...WIDGETS, version: 'v2' })).toHaveLength(1);
  });

  it('knows nothing of a resource any more when its definition is gone', async () => {
    await define();
    await local.put(WIDGETS, object('Widget', 'left'));
    await start(controller());
    seen = [];
    await local.delete(CUSTOM_RESOURCE_DEFINITIONS, key('widgets.example.com'), {}, stop.signal);
    await clock.advance(100);
    expect(seen).toEqual(['widgets shifts with 0']);
    expect(context?.served.list()).toEqual([]);
  });

  it('reads and writes what another server serves through the other client', async () => {
    await local.put(API_SERVICES, wardleApiService());
    await remote.put(FLUNDERS, object('Flunder', 'far', 'wardle.example.com'));
    await start(controller());
    expect(seen).toEqual(['flunders/far']);
    await context?.client.delete(FLUNDERS, { namespace: 'a', name: 'far' }, {}, stop.signal);
    await clock.advance(100);
    expect(remote.all(FLUNDERS)).toEqual([]);
    expect(seen).toEqual(['flunders/far', 'flunders/far gone']);
  });

  it.each([
    ['owners', { ownerReferences: [null] }],
    ['finalizers', { finalizers: 5 }],
  ])('goes on when another server sends objects without proper %s', async (_, metadata) => {
    await define();
    await local.put(API_SERVICES, wardleApiService());
    const odd = object('Flunder', 'odd', 'wardle.example.com');
    await remote.put(FLUNDERS, { ...odd, metadata: { ...odd.metadata, ...metadata } } as unknown as KubeObject);
    await start(controller());
    await local.put(WIDGETS, object('Widget', 'near'));
    await clock.advance(100);
    expect(seen).toEqual(['widgets/near']);
    expect(context?.served.isSynced(FLUNDERS)).toBe(false);
    expect(context?.served.isSettled()).toBe(true);
  });

  it('takes what another server says of its verbs for none when that is no list', async () => {
    await local.put(API_SERVICES, wardleApiService());
    await define();
    await local.put(WIDGETS, object('Widget', 'near'));
    const raw = async () =>
      JSON.stringify({ kind: 'APIResourceList', resources: [{ name: 'flunders', kind: 'Flunder', verbs: 5 }] });
    discover = () => discoverResources({ raw }, FLUNDERS, stop.signal);
    await start(controller());
    expect(seen).toEqual(['widgets/near']);
    expect(context?.served.find(FLUNDERS)?.verbs).toEqual([]);
  });

  it('writes nothing to another server when it does not lead', async () => {
    await local.put(API_SERVICES, wardleApiService());
    await remote.put(FLUNDERS, object('Flunder', 'far', 'wardle.example.com'));
    await start(controller());
    stop.abort();
    await clock.advance(100);
    const write = context?.client.delete(FLUNDERS, { namespace: 'a', name: 'far' }, {}, new AbortController().signal);
    await expect(write).rejects.toSatisfy((error) => isReason(error, 'Forbidden'));
    expect(remote.writes).toEqual([]);
  });

  it('keeps what another server serves while that does not answer, and names its group version', async () => {
    await define();
    await local.put(API_SERVICES, wardleApiService());
    await local.put(WIDGETS, object('Widget', 'near'));
    await start(controller());
    expect(context?.served.failures()).toEqual([]);
    discover = () => Promise.reject(StatusError.unavailable('down'));
    const refreshed = context?.served.refresh(stop.signal);
    await clock.advance(0);
    await refreshed;
    expect(context?.served.failures()).toEqual(['wardle.example.com/v1']);
    expect(context?.served.findKind('wardle.example.com', 'Flunder')).toBeDefined();
    discover = async () => [FLUNDERS_FOUND];
    await clock.advance(60_000);
    expect(context?.served.failures()).toEqual([]);
  });

  it('does not wait for a server that was never there', async () => {
    await define();
    await local.put(API_SERVICES, wardleApiService());
    await local.put(WIDGETS, object('Widget', 'near'));
    discover = () => Promise.reject(StatusError.unavailable('down'));
    await start(controller());
    expect(seen).toEqual(['widgets/near']);
    expect(context?.served.failures()).toEqual(['wardle.example.com/v1']);
    expect(context?.served.findKind('wardle.example.com', 'Flunder')).toBeUndefined();
  });

  it('asks no other server for a group version that is served here', async () => {
    await local.put(API_SERVICES, wardleApiService({}));
    await local.put(FLUNDERS, object('Flunder', 'near', 'wardle.example.com'));
    await define(establishedDefinition({ group: 'wardle.example.com' }, 'Flunder'));
    discover = () => Promise.reject(StatusError.unavailable('must not be called'));
    await start(controller());
    expect(seen).toEqual(['flunders/near']);
    expect(context?.served.failures()).toEqual([]);
  });

  it('does not wait for one that hangs, and says that not all is known', async () => {
    await local.put(API_SERVICES, wardleApiService());
    const answer = Promise.withResolvers<readonly DiscoveredResource[]>();
    discover = () => answer.promise;
    await define();
    await local.put(WIDGETS, object('Widget', 'near'));
    await start(controller());
    expect(seen).toEqual(['widgets/near']);
    expect(context?.served.isSettled()).toBe(false);
    answer.resolve([FLUNDERS_FOUND]);
    await clock.advance(100);
    expect(context?.served.isSettled()).toBe(true);
  });
});
