import {
  DiscoveryV1Api,
  type V1Endpoints,
  type V1IPAddress,
  type V1Service,
  type V1ServiceCIDR,
} from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { KINDS } from './kinds.ts';
import { expectNewer, retryOnConflict } from './outcome.ts';
import { Resource } from './resource.ts';
import { type Proof, proof, proofAlone } from './world.ts';

const SAME_MS = 120_000;
const API_SERVER = { name: 'kubernetes', namespace: 'default' } as const;

export const NETWORK_PROOFS: readonly Proof[] = [
  proof('[sig-network] API Server should provide secure master service [Conformance]', async (world) => {
    const service = await world.core.readNamespacedService(API_SERVER);
    expect(service.spec?.ports).toMatchObject([{ name: 'https', port: 443 }]);
  }),

  proof(
    '[sig-network] API Server should have Endpoints and EndpointSlices pointing to API Server [Conformance]',
    async (world) => {
      await world.core.readNamespacedService(API_SERVER);
      // They are written one after the other when an apiserver comes or goes.
      await eventually('both say the same', SAME_MS, async () => {
        const endpoints = await world.core.readNamespacedEndpoints(API_SERVER);
        const subsets = endpoints.subsets ?? [];
        const slices = await world.api(DiscoveryV1Api).listNamespacedEndpointSlice({
          namespace: API_SERVER.namespace,
          labelSelector: `kubernetes.io/service-name=${API_SERVER.name}`,
        });
        expect(subsets).not.toHaveLength(0);
        expect(slices.items).not.toHaveLength(0);
        const addresses = subsets.flatMap((one) => [...(one.addresses ?? []), ...(one.notReadyAddresses ?? [])]);
        const ofSlices = slices.items.filter(({ addressType }) => addressType === 'IPv4');
        expect(new Set(ofSlices.flatMap((slice) => (slice.endpoints ?? []).flatMap((one) => one.addresses)))).toEqual(
          new Set(addresses.map(({ ip }) => ip)),
        );
        expect(new Set(ofSlices.flatMap(({ ports }) => (ports ?? []).map(({ port }) => port)))).toEqual(
          new Set(subsets.flatMap(({ ports }) => (ports ?? []).map(({ port }) => port))),
        );
        return true;
      });
    },
  ),

  proof('[sig-network] Services should find a service from listing all namespaces [Conformance]', async (world) => {
    const { items } = await world.core.listServiceForAllNamespaces();
    expect(items.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`)).toContain('default/kubernetes');
  }),

  proof('[sig-network] Services should complete a service status lifecycle [Conformance]', async (world) => {
    const services = new Resource<V1Service>(world.cluster, KINDS.Service, await world.namespace());
    const label = world.unique('service');
    const selection = { labelSelector: `conformance=${label}` };
    using watch = await services.watch({
      ...selection,
      resourceVersion: (await services.listAll(selection)).metadata?.resourceVersion ?? '',
    });
    await services.create({
      metadata: { name: 'test-service', labels: { conformance: label } },
      spec: {
        type: 'LoadBalancer',
        ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 80 }],
        loadBalancerClass: 'example.com/internal-vip',
      },
    });
    await watch.until('the service', ({ type }) => type === 'ADDED');
    expect((await services.get('test-service', 'status')).metadata?.name).toBe('test-service');
    const patch = {
      metadata: { annotations: { patchedstatus: 'true' } },
      status: { loadBalancer: { ingress: [{ ip: '203.0.113.1' }] } },
    };
    expect(await services.patch('test-service', 'merge', patch, 'status')).toMatchObject(patch);
    expect(await watch.next('its patch')).toMatchObject({ type: 'MODIFIED', object: patch });
    const condition = {
      type: 'StatusUpdate',
      status: 'True',
      reason: 'Conformance',
      message: 'Set by a test',
      lastTransitionTime: new Date('2024-01-01T00:00:00Z'),
    };
    await retryOnConflict(async () => {
      const found = await services.get('test-service');
      const conditions = [...(found.status?.conditions ?? []), condition];
      return await services.replace({ ...found, status: { ...found.status, conditions } }, 'status');
    });
    const { lastTransitionTime: _at, ...lasting } = condition;
    const updated = { metadata: patch.metadata, status: { conditions: [lasting] } };
    expect(await watch.next('its update')).toMatchObject({ type: 'MODIFIED', object: updated });
    await services.patch('test-service', 'strategic', { metadata: { labels: { 'test-service': 'patched' } } });
    expect(await watch.next('its label')).toMatchObject({
      object: { metadata: { labels: { 'test-service': 'patched' } } },
    });
    await services.delete('test-service');
    await watch.until('its deletion', ({ type }) => type === 'DELETED');
  }),

  proof('[sig-network] Services should delete a collection of services [Conformance]', async (world) => {
    const services = new Resource<V1Service>(world.cluster, KINDS.Service, await world.namespace());
    for (const [name, label, port] of [
      ['a', 'delete', 8001],
      ['b', 'delete', 8002],
      ['c', 'keep', 8003],
    ] as const) {
      const ports = [{ name: 'http', protocol: 'TCP', port, targetPort: port }];
      await services.create({
        metadata: { name: `svc-${name}`, labels: { 'e2e-test-service': label } },
        spec: { type: 'ClusterIP', ports },
      });
    }
    expect((await services.list()).items).toHaveLength(3);
    await services.deleteCollection({ labelSelector: 'e2e-test-service=delete' });
    expect((await services.list()).items.map(({ metadata }) => metadata?.name)).toEqual(['svc-c']);
  }),

  proof('[sig-network] Endpoints should test the lifecycle of an Endpoint [Conformance]', async (world) => {
    const namespace = await world.namespace();
    const endpoints = new Resource<V1Endpoints>(world.cluster, KINDS.Endpoints, namespace);
    const label = world.unique('endpoints');
    const selection = { labelSelector: `conformance=${label}` };
    const name = 'testservice';
    const list = await endpoints.listAll(selection);
    using watch = await endpoints.watch({ ...selection, resourceVersion: list.metadata?.resourceVersion ?? '' });
    const created = await endpoints.create({
      metadata: { name, labels: { conformance: label } },
      subsets: [{ addresses: [{ ip: '10.0.0.24' }], ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }],
    });
    expect(await watch.next('the endpoints')).toMatchObject({ type: 'ADDED', object: { metadata: { name } } });
    const found = (await endpoints.listAll(selection)).items.find(({ metadata }) => metadata?.namespace === namespace);
    if (found === undefined) throw new Error('the endpoints are not in the list of all');
    const labels = { ...found.metadata?.labels, 'test-service': 'updated' };
    await endpoints.replace({ ...found, metadata: { ...found.metadata, labels } });
    expect(await watch.next('their update')).toMatchObject({ type: 'MODIFIED', object: { metadata: { labels } } });
    const patch = {
      metadata: { labels: { 'test-service': 'patched' } },
      subsets: [{ addresses: [{ ip: '10.0.0.25' }], ports: [{ name: 'http-test', port: 8080 }] }],
    };
    const patched = await endpoints.patch(name, 'strategic', patch);
    expectNewer(patched, created);
    expect(await watch.next('their patch')).toMatchObject({ type: 'MODIFIED' });
    const after = await endpoints.get(name);
    expect(after.metadata?.labels).toMatchObject({ 'test-service': 'patched' });
    expect(after.subsets).toEqual([
      { addresses: [{ ip: '10.0.0.25' }], ports: [{ name: 'http-test', port: 8080, protocol: 'TCP' }] },
    ]);
    await endpoints.deleteCollection(selection);
    await watch.until('their deletion', ({ type }) => type === 'DELETED');
    expect((await endpoints.listAll(selection)).items).toHaveLength(0);
  }),

  proof(
    '[sig-network] ServiceCIDR and IPAddress API should support ServiceCIDR API operations [Conformance]',
    async (world) => {
      const ranges = new Resource<V1ServiceCIDR>(world.cluster, KINDS.ServiceCIDR);
      const first = await ranges.get('kubernetes');
      expect(await ranges.get('kubernetes', 'status')).toMatchObject({
        apiVersion: 'networking.k8s.io/v1',
        kind: 'ServiceCIDR',
        metadata: { uid: first.metadata?.uid },
      });
      expect((await ranges.list()).items).not.toHaveLength(0);
      using watch = await ranges.watch({});
      expect(await watch.next('the first range')).toMatchObject({ type: 'ADDED', object: { kind: 'ServiceCIDR' } });
    },
  ),

  proofAlone(
    '[sig-network] ServiceCIDR and IPAddress API should support IPAddress API operations [Conformance]',
    async (world) => {
      const addresses = new Resource<V1IPAddress>(world.cluster, KINDS.IPAddress);
      const parentRef = { group: 'mygroup', resource: 'myresources', namespace: 'foo', name: 'bar' };
      const wanted = (name: string, type: string) => ({ metadata: { name, labels: { type } }, spec: { parentRef } });
      const broadcast = '255.255.255.255';
      for (const type of ['broadcast', 'link-local'])
        world.atEnd(() => addresses.deleteCollection({ labelSelector: `type=${type}` }));
      const created = await addresses.create(wanted(broadcast, 'broadcast'));
      await addresses.create(wanted('fe80::42:1dff:fe84:f9e2', 'link-local'));
      const patched = await addresses.patch(broadcast, 'merge', { metadata: { annotations: { patched: 'true' } } });
      expect(patched.metadata?.annotations).toMatchObject({ patched: 'true' });
      expectNewer(patched, created);
      const updated = await retryOnConflict(async () => {
        const found = await addresses.get(broadcast);
        const annotations = { ...found.metadata?.annotations, updated: 'true' };
        return await addresses.replace({ ...found, metadata: { ...found.metadata, annotations } });
      });
      expect(updated.metadata?.annotations).toMatchObject({ updated: 'true' });
      const selection = { labelSelector: 'type=broadcast' };
      expect((await addresses.list(selection)).items).toHaveLength(1);
      using watch = await addresses.watch(selection);
      expect(await watch.next('the address')).toMatchObject({
        type: 'ADDED',
        object: { metadata: { name: broadcast } },
      });
      await addresses.delete(broadcast);
      await addresses.deleteCollection({ labelSelector: 'type=link-local' });
      expect((await addresses.list({ labelSelector: 'type=link-local' })).items).toHaveLength(0);
    },
  ),
];
