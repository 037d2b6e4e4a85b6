import {
  CustomObjectsApi,
  DiscoveryV1Api,
  type V1APIService,
  type V1APIServiceCondition,
} from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { type AggregatedServer, startAggregatedServer } from './aggregated-server.ts';
import { documentAt } from './discovery-documents.ts';
import { KINDS } from './kinds.ts';
import { expectNewer, retryOnConflict } from './outcome.ts';
import { Resource } from './resource.ts';
import { reachableAddress } from './test-pki.ts';
import { type Proof, proof, type World } from './world.ts';

const AVAILABLE_MS = 180_000;
const PORT = 7443;
const VERSION = 'v1alpha1';
const SERVICE = 'sample-api';

type ApiServices = Resource<V1APIService>;

/** A server outside the cluster, behind a Service whose endpoints are its address, registered as an API of a group of its own. */
interface Registered {
  readonly server: AggregatedServer;
  readonly apiServices: ApiServices;
  readonly name: string;
  readonly group: string;
  readonly namespace: string;
}

async function register(world: World): Promise<Registered> {
  const namespace = await world.namespace();
  const group = `${namespace}.wardle.example.com`;
  const server = await startAggregatedServer(`${group}/${VERSION}`, `${SERVICE}.${namespace}.svc`);
  world.atEnd(async () => server[Symbol.asyncDispose]());
  const ports = [{ name: 'https', protocol: 'TCP', port: PORT, targetPort: server.port }];
  await world.core.createNamespacedService({ namespace, body: { metadata: { name: SERVICE }, spec: { ports } } });
  await world.api(DiscoveryV1Api).createNamespacedEndpointSlice({
    namespace,
    body: {
      metadata: { name: SERVICE, labels: { 'kubernetes.io/service-name': SERVICE } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [reachableAddress()], conditions: { ready: true } }],
      ports: [{ name: 'https', protocol: 'TCP', port: server.port }],
    },
  });
  const apiServices: ApiServices = new Resource(world.cluster, KINDS.APIService);
  const name = `${VERSION}.${group}`;
  world.atEnd(() => apiServices.delete(name));
  await apiServices.create({
    metadata: { name },
    spec: {
      service: { namespace, name: SERVICE, port: PORT },
      group,
      version: VERSION,
      caBundle: server.caBundle,
      groupPriorityMinimum: 2000,
      versionPriority: 200,
    },
  });
  return { server, apiServices, name, group, namespace };
}

async function expectServed(world: World, { group, namespace }: Registered): Promise<void> {
  const path = `/apis/${group}/${VERSION}/namespaces/default/flunders`;
  // Several at once, over a connection each, since every apiserver has to have heard of it.
  await eventually('the aggregated API answers', AVAILABLE_MS, async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => world.cluster.raw(path)));
    return answers.every(({ status }) => status === 200);
  });
  const body = flunder(group, 'rest-flunder');
  const headers = { 'content-type': 'application/json' };
  const made = await world.cluster.raw(path, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(made.status, made.text).toBe(201);
  expect(JSON.parse(made.text)).toMatchObject(body);
  const names = async () =>
    (await documentAt<{ items: { metadata: { name: string } }[] }>(world.cluster, path)).items.map(
      ({ metadata }) => metadata.name,
    );
  expect(await names()).toEqual(['rest-flunder']);
  expect((await world.cluster.raw(`${path}/rest-flunder`, { method: 'DELETE' })).status).toBe(200);
  expect(await names()).toEqual([]);

  const { resources } = await documentAt<{ resources: { name: string }[] }>(world.cluster, `/apis/${group}/${VERSION}`);
  expect(resources.map(({ name }) => name)).toContain('flunders');
  const api = world.api(CustomObjectsApi);
  const at = { group, version: VERSION, namespace, plural: 'flunders' };
  await api.createNamespacedCustomObject({ ...at, body: flunder(group, 'dynamic-flunder') });
  expect(await api.listNamespacedCustomObject(at)).toMatchObject({
    items: [{ metadata: { name: 'dynamic-flunder' } }],
  });
  await api.deleteNamespacedCustomObject({ ...at, name: 'dynamic-flunder' });
  expect(await api.listNamespacedCustomObject(at)).toMatchObject({ items: [] });
}

function flunder(group: string, name: string): object {
  return { apiVersion: `${group}/${VERSION}`, kind: 'Flunder', metadata: { name, labels: { 'sample-label': 'true' } } };
}

const condition = (type: string): V1APIServiceCondition => ({
  type,
  status: 'True',
  reason: 'E2E',
  message: 'Set by a test',
});

async function exerciseRegistration(world: World, { apiServices, name, group }: Registered): Promise<void> {
  const before = await apiServices.get(name, 'status');
  expect(before.status?.conditions?.[0]?.message).toBe('all checks passed');
  const patched = await apiServices.patch(name, 'merge', { spec: { versionPriority: 400 } });
  expect(patched.spec?.versionPriority).toBe(400);
  expectNewer(patched, before);
  expect((await apiServices.list()).items.map(({ metadata }) => metadata?.name)).toContain(name);
  await apiServices.patch(name, 'strategic', { metadata: { labels: { 'e2e-apiservice': 'patched' } } });

  await retryOnConflict(async () => {
    const found = await apiServices.get(name, 'status');
    const conditions = [...(found.status?.conditions ?? []), condition('StatusUpdated')];
    return await apiServices.replace({ ...found, status: { conditions } }, 'status');
  });
  const updated = await apiServices.get(name, 'status');
  expect(updated.status?.conditions).toContainEqual(expect.objectContaining(condition('StatusUpdated')));
  const labelled = await retryOnConflict(async () => {
    const found = await apiServices.get(name);
    return await apiServices.replace({ ...found, metadata: { ...found.metadata, labels: { [group]: 'updated' } } });
  });
  expect(labelled.metadata?.labels).toEqual({ [group]: 'updated' });
  const conditions = [...(updated.status?.conditions ?? []), condition('StatusPatched')];
  await apiServices.patch(name, 'merge', JSON.parse(JSON.stringify({ status: { conditions } })), 'status');
  const repatched = await apiServices.get(name, 'status');
  expect(repatched.status?.conditions).toContainEqual(expect.objectContaining(condition('StatusPatched')));

  const selection = { labelSelector: `${group}=updated` };
  await apiServices.deleteCollection(selection);
  await eventually('the APIService is gone', AVAILABLE_MS, async () => {
    return (await apiServices.list(selection)).items.length === 0;
  });
  await eventually('its API is served no longer', AVAILABLE_MS, async () => {
    return (await world.cluster.raw(`/apis/${group}/${VERSION}/namespaces/default/flunders`)).status === 404;
  });
}

export const AGGREGATION_PROOFS: readonly Proof[] = [
  proof(
    '[sig-api-machinery] Aggregator Should be able to support the 1.17 Sample API Server using the current Aggregator [LinuxOnly] [Conformance]',
    async (world) => {
      const registered = await register(world);
      await expectServed(world, registered);
      expect([...registered.server.users]).toContain('kubernetes-admin');
      await exerciseRegistration(world, registered);
    },
  ),
];
