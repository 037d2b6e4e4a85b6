import {
  type ExtensionServer,
  startApiServer,
  startExtensionServer,
  type TestApiServer,
} from '@gantry/apiserver/testing';
import { systemClock, systemRandom } from '@gantry/base';
import {
  createGrpcClient,
  createHttpClient,
  discoverResources,
  type GrpcClient,
  type HttpClient,
} from '@gantry/client';
import { createFenceHolder, createManager } from '@gantry/controller-runtime';
import { establishedDefinition, silentLog, wardleApiService } from '@gantry/controller-runtime/testing';
import {
  API_SERVICES,
  CONFIG_MAPS,
  CUSTOM_RESOURCE_DEFINITIONS,
  isReason,
  type KubeObject,
  type Namespace,
  NAMESPACES,
  type ObjectMeta,
  type OwnerReference,
  type Resource,
  RESOURCE_QUOTAS,
  type ResourceQuota,
  SERVICES,
} from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { fixedTls } from '@gantry/tls';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createGarbageCollector } from '../controllers/garbage-collector/controller.ts';
import { namespaceController } from '../controllers/namespace/controller.ts';
import { resourceQuotaController } from '../controllers/resource-quota/controller.ts';
import { garbageMeter } from '../metrics/meters.ts';
import { FlunderServer } from './flunder-server.ts';

const METRICS = createMetrics();

const WAIT = { timeout: 60_000, interval: 20 };
const PRESERVE = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } as const;
const { signal } = new AbortController();

let server: TestApiServer;
/** The client of the test, as an administrator. */
let api: HttpClient;
let local: GrpcClient;
let remote: HttpClient;
let controllers: AbortController;
let running: Promise<unknown>;

function startControllers(): void {
  controllers = new AbortController();
  const manager = createManager({
    client: local,
    aggregated: { client: remote, discover: (of, stop) => discoverResources(remote, of, stop) },
    fences: createFenceHolder(),
    component: 'kube-controller-manager',
    identity: 'test',
    controllers: [createGarbageCollector(garbageMeter(METRICS)), namespaceController, resourceQuotaController],
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  });
  const term = { electionKey: '/gantry/elections/test', epoch: 1, incarnation: 'test' };
  running = Promise.all([manager.run(controllers.signal), manager.leader.lead(term, controllers.signal)]);
}

async function stopControllers(): Promise<void> {
  controllers.abort();
  await running;
}

beforeAll(async () => {
  server = await startApiServer();
  const tls = fixedTls(server.admin);
  api = createHttpClient({ server: server.url, tls });
  local = createGrpcClient({ addresses: [`localhost:${server.grpcPort}`], tls, fieldManager: 'test' });
  const identity = await server.pki.issue('system:kube-controller-manager', ['gantry:services']);
  remote = createHttpClient({ server: server.url, tls: fixedTls(identity) });
  startControllers();
});
afterAll(async () => {
  await stopControllers();
  api[Symbol.dispose]();
  local[Symbol.dispose]();
  remote[Symbol.dispose]();
  await server.stop();
});

const create = <T extends KubeObject>(resource: Resource<T>, object: NoInfer<T>): Promise<T> =>
  api.create(resource, object, signal);
const remove = (
  resource: Resource,
  name: string,
  propagationPolicy: 'Background' | 'Foreground' | 'Orphan' = 'Background',
  namespace = 'default',
) => api.delete(resource, { namespace, name }, { propagationPolicy }, signal);
const isGone = async (resource: Resource, name: string, namespace = 'default') => {
  try {
    await api.get(resource, { namespace, name }, signal);
  } catch (error) {
    if (isReason(error, 'NotFound')) return;
    throw error;
  }
  expect.fail(`${resource.resource} ${namespace}/${name} is there`);
};
const goes = (...asked: Parameters<typeof isGone>): Promise<void> => vi.waitFor(() => isGone(...asked), WAIT);
const configMap = (name: string, metadata: Partial<ObjectMeta> = {}) =>
  create<KubeObject>(CONFIG_MAPS, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default', ...metadata },
  });
const ownedBy = (...owners: readonly KubeObject[]): { ownerReferences: OwnerReference[] } => ({
  ownerReferences: owners.map(({ apiVersion, kind, metadata: { name = '', uid = '' } }) => ({
    apiVersion,
    kind,
    name,
    uid,
    blockOwnerDeletion: true,
  })),
});
const unhold = (resource: Resource, name: string) =>
  api.patch(resource, { namespace: 'default', name }, { merge: { metadata: { finalizers: null } } }, signal);

/** A separate custom resource for each test, named by its kind. */
function kindOf(kind: string, spec: Parameters<typeof establishedDefinition>[0] = {}) {
  const resource: Resource = {
    group: 'example.com',
    version: 'v1',
    resource: `${kind.toLowerCase()}s`,
    kind,
    namespaced: spec.scope !== 'Cluster',
  };
  const object = (name: string, metadata: Partial<ObjectMeta> = {}): KubeObject => ({
    apiVersion: 'example.com/v1',
    kind,
    metadata: { name, namespace: 'default', ...metadata },
  });
  return {
    resource,
    object,
    define: async () => {
      const versions = [{ name: 'v1', served: true, storage: true, schema: PRESERVE }];
      const { status: _status, ...definition } = establishedDefinition({ versions, ...spec }, kind);
      await create(CUSTOM_RESOURCE_DEFINITIONS, definition);
      await vi.waitFor(() => api.list(resource, {}, signal), WAIT);
    },
    create: (name: string, metadata: Partial<ObjectMeta> = {}) => create(resource, object(name, metadata)),
  };
}

/** Returns when the collector has processed all earlier events. */
async function collectorIsDone(name: string): Promise<void> {
  const owner = await configMap(`${name}-marks`);
  await configMap(`${name}-marked`, ownedBy(owner));
  await remove(CONFIG_MAPS, `${name}-marks`);
  await goes(CONFIG_MAPS, `${name}-marked`);
}

describe('the collector among custom resources', () => {
  it('cascades deletions to and from them', async () => {
    const apples = kindOf('Apple');
    await apples.define();
    const owner = await apples.create('owner');
    await apples.create('owned', ownedBy(owner));
    await configMap('apple-owned', ownedBy(owner));
    await remove(apples.resource, 'owner');
    await goes(apples.resource, 'owned');
    await goes(CONFIG_MAPS, 'apple-owned');
    await apples.create('other', ownedBy(await configMap('apple-owner')));
    await remove(CONFIG_MAPS, 'apple-owner');
    await goes(apples.resource, 'other');
  });

  it('lets them wait in the foreground for what they own', async () => {
    const pears = kindOf('Pear');
    await pears.define();
    const owner = await pears.create('owner');
    await configMap('pear-held', { ...ownedBy(owner), finalizers: ['example.org/hold'] });
    await pears.create('owned', ownedBy(owner));
    await remove(pears.resource, 'owner', 'Foreground');
    await goes(pears.resource, 'owned');
    const waiting = await api.get(pears.resource, { namespace: 'default', name: 'owner' }, signal);
    expect(waiting.metadata.finalizers).toEqual(['foregroundDeletion']);
    await unhold(CONFIG_MAPS, 'pear-held');
    await goes(CONFIG_MAPS, 'pear-held');
    await goes(pears.resource, 'owner');
  });

  it('orphans what they own when it is told to', async () => {
    const plums = kindOf('Plum');
    await plums.define();
    const owner = await plums.create('owner');
    await plums.create('kept', ownedBy(owner));
    await configMap('plum-kept', ownedBy(owner));
    await remove(plums.resource, 'owner', 'Orphan');
    await goes(plums.resource, 'owner');
    await collectorIsDone('plum');
    for (const [resource, name] of [
      [plums.resource, 'kept'],
      [CONFIG_MAPS, 'plum-kept'],
    ] as const) {
      const kept = await api.get(resource, { namespace: 'default', name }, signal);
      expect(kept.metadata.ownerReferences).toBeUndefined();
    }
  });

  it('lets those of cluster scope own in every namespace', async () => {
    const figs = kindOf('Fig', { scope: 'Cluster' });
    await figs.define();
    const object = figs.object('owner');
    delete object.metadata.namespace;
    await configMap('fig-owned', ownedBy(await create(figs.resource, object)));
    await remove(figs.resource, 'owner', 'Background', '');
    await goes(CONFIG_MAPS, 'fig-owned');
  });

  it('knows them by any version of their kind', async () => {
    const version = { served: true, schema: PRESERVE };
    const limes = kindOf('Lime', {
      versions: [
        { name: 'v1', storage: false, ...version },
        { name: 'v2', storage: true, ...version },
      ],
    });
    await limes.define();
    const { ownerReferences } = ownedBy(await limes.create('owner'));
    for (const [index, owner] of ownerReferences.entries()) {
      const newer = { ...owner, apiVersion: 'example.com/v2' };
      await configMap(`lime-old-${index}`, { ownerReferences: [owner] });
      await configMap(`lime-new-${index}`, { ownerReferences: [newer] });
    }
    await collectorIsDone('lime');
    await api.get(CONFIG_MAPS, { namespace: 'default', name: 'lime-old-0' }, signal);
    await remove(limes.resource, 'owner');
    await goes(CONFIG_MAPS, 'lime-old-0');
    await goes(CONFIG_MAPS, 'lime-new-0');
  });

  it('collects what they owned when they go with their definition', async () => {
    const kiwis = kindOf('Kiwi');
    await kiwis.define();
    await configMap('kiwi-owned', ownedBy(await kiwis.create('owner')));
    await collectorIsDone('kiwi');
    await remove(CUSTOM_RESOURCE_DEFINITIONS, 'kiwis.example.com', 'Background', '');
    await goes(CONFIG_MAPS, 'kiwi-owned');
    await goes(CUSTOM_RESOURCE_DEFINITIONS, 'kiwis.example.com', '');
  });

  it('waits for a kind that is defined after what it owns', async () => {
    const dates = kindOf('Date');
    const never = {
      ...dates.object('never'),
      metadata: { name: 'never', uid: '5d2d5ac6-5b6d-4a0c-8f04-3f2ea1a9a111' },
    };
    await configMap('date-owned', ownedBy(never));
    await collectorIsDone('date');
    await api.get(CONFIG_MAPS, { namespace: 'default', name: 'date-owned' }, signal);
    await dates.define();
    await goes(CONFIG_MAPS, 'date-owned');
  });

  it('finds after a restart what has gone meanwhile', async () => {
    const melons = kindOf('Melon');
    await melons.define();
    const owner = await melons.create('owner');
    await melons.create('owned', ownedBy(owner));
    await configMap('melon-owned', ownedBy(owner));
    const held = await melons.create('held');
    await configMap('melon-held', ownedBy(held));
    await collectorIsDone('melon');
    await stopControllers();
    await remove(melons.resource, 'owner');
    await remove(melons.resource, 'held', 'Foreground');
    startControllers();
    await goes(melons.resource, 'owned');
    await goes(CONFIG_MAPS, 'melon-owned');
    await goes(melons.resource, 'held');
  });

  it('goes on beside a kind whose conversion fails, and takes nothing of it for absent', async () => {
    const version = { served: true, schema: PRESERVE };
    const nuts = kindOf('Nut', {
      versions: [
        { name: 'v1', storage: true, ...version },
        { name: 'v2', storage: false, ...version },
      ],
      conversion: {
        strategy: 'Webhook',
        webhook: {
          clientConfig: { url: 'https://localhost:1/convert' },
          conversionReviewVersions: ['v1'],
        },
      },
    });
    await nuts.define();
    const owner = await nuts.create('owner');
    await configMap('nut-owned', ownedBy(owner));
    await collectorIsDone('nut-before');
    const patch = {
      spec: {
        versions: [
          { name: 'v1', storage: false, ...version },
          { name: 'v2', storage: true, ...version },
        ],
      },
    };
    const key = { namespace: '', name: 'nuts.example.com' };
    await api.patch(CUSTOM_RESOURCE_DEFINITIONS, key, { merge: patch }, signal);
    await vi.waitFor(
      () => expect(api.list({ ...nuts.resource, version: 'v2' }, {}, signal)).rejects.toThrow(/conversion webhook/),
      WAIT,
    );
    await stopControllers();
    startControllers();
    await collectorIsDone('nut-after');
    await api.get(CONFIG_MAPS, { namespace: 'default', name: 'nut-owned' }, signal);
  });
});

describe('quotas of custom resources', () => {
  it('are counted as these come and go', async () => {
    const beans = kindOf('Bean');
    await beans.define();
    await beans.create('one');
    await beans.create('other');
    const name = 'beans';
    await create<ResourceQuota>(RESOURCE_QUOTAS, {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name, namespace: 'default' },
      spec: { hard: { 'count/beans.example.com': '5' } },
    });
    const counts = (used: string) =>
      vi.waitFor(async () => {
        const { status } = await api.get(RESOURCE_QUOTAS, { namespace: 'default', name }, signal);
        expect(status?.used).toEqual({ 'count/beans.example.com': used });
      }, WAIT);
    await counts('2');
    await remove(beans.resource, 'one');
    await counts('1');
  });
});

describe('what another server serves', () => {
  const makeNamespace = (name: string) =>
    create<Namespace>(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  let extension: ExtensionServer;
  let flunders: FlunderServer;
  beforeAll(async () => {
    const key = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };
    const config = await vi.waitFor(() => api.get(CONFIG_MAPS, key, signal), WAIT);
    const tls = await server.pki.issue('wardle', [], ['wardle.default.svc']);
    extension = await startExtensionServer(tls, config.data?.['requestheader-client-ca-file'] ?? '');
    await makeNamespace('fish');
    flunders = new FlunderServer(extension, 'fish');
    // Endpoints must not have loopback addresses, but a DNS name may resolve to one.
    await create(SERVICES, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'wardle', namespace: 'default' },
      spec: { type: 'ExternalName', externalName: 'localhost' },
    });
    const caBundle = Buffer.from(server.pki.ca).toString('base64');
    const service = { namespace: 'default', name: 'wardle', port: extension.port };
    await create<KubeObject>(API_SERVICES, wardleApiService({ caBundle, service }));
    const path = { method: 'GET', path: '/apis/wardle.example.com/v1/flunders' } as const;
    await vi.waitFor(() => api.raw(path, signal), WAIT);
  });

  it('owns and is owned like everything else', async () => {
    const owner = flunders.put('owner');
    await configMap('owned', { namespace: 'fish', ...ownedBy(owner) });
    flunders.put('owned', ownedBy(await configMap('owner', { namespace: 'fish' })));
    flunders.put('kept', ownedBy(await configMap('lasting', { namespace: 'fish' })));
    await collectorIsDone('flunder');
    flunders.delete('owner');
    await goes(CONFIG_MAPS, 'owned', 'fish');
    await remove(CONFIG_MAPS, 'owner', 'Background', 'fish');
    await vi.waitFor(() => expect(flunders.names).toEqual(['kept']), WAIT);
  });

  it('is not taken for absent while that server is down, and keeps its namespace', async () => {
    await configMap('faithful', { namespace: 'fish', ...ownedBy(flunders.put('lasting')) });
    await makeNamespace('pond');
    flunders.serveEmpty('pond');
    await stopControllers();
    const root = '/apis/wardle.example.com/v1';
    const routes = new Map(extension.routes);
    extension.routes.clear();
    for (const path of routes.keys()) {
      extension.routes.set(path, (_, response) => response.writeHead(503).end('out of order'));
    }
    flunders.close();
    startControllers();
    await remove(NAMESPACES, 'pond', 'Background', '');
    await vi.waitFor(async () => {
      const { status } = await api.get(NAMESPACES, { namespace: '', name: 'pond' }, signal);
      expect(status?.conditions?.find(({ type }) => type === 'NamespaceDeletionDiscoveryFailure')).toMatchObject({
        status: 'True',
        reason: 'DiscoveryFailed',
        message: expect.stringContaining('wardle.example.com/v1: stale GroupVersion discovery: wardle.example.com/v1'),
      });
    }, WAIT);
    await collectorIsDone('down');
    await api.get(CONFIG_MAPS, { namespace: 'fish', name: 'faithful' }, signal);
    for (const [path, route] of routes) extension.routes.set(path, route);
    expect(routes.has(root)).toBe(true);
    await goes(NAMESPACES, 'pond', '');
    await api.get(CONFIG_MAPS, { namespace: 'fish', name: 'faithful' }, signal);
  });

  it('goes with its namespace', async () => {
    expect(flunders.names).toEqual(['kept', 'lasting']);
    await remove(NAMESPACES, 'fish', 'Background', '');
    await goes(NAMESPACES, 'fish', '');
    expect(flunders.names).toEqual([]);
    flunders.close();
    await extension[Symbol.asyncDispose]();
  });
});
