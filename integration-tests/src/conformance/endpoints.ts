import type { V1Endpoints, V1EndpointSlice, V1Service } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { KINDS } from './kinds.ts';
import { retryOnConflict } from './outcome.ts';
import { Resource } from './resource.ts';
import { type Proof, proof, type World } from './world.ts';

const FOLLOWED_MS = 60_000;
const NAME = 'example';
const SERVICE_LABEL = 'kubernetes.io/service-name';
const MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by';

/** What these tests look at, in a namespace of their own. */
interface Objects {
  readonly services: Resource<V1Service>;
  readonly endpoints: Resource<V1Endpoints>;
  readonly slices: () => Promise<readonly V1EndpointSlice[]>;
}

async function objectsOf(world: World): Promise<Objects> {
  const namespace = await world.namespace();
  const slices = new Resource<V1EndpointSlice>(world.cluster, KINDS.EndpointSlice, namespace);
  return {
    services: new Resource(world.cluster, KINDS.Service, namespace),
    endpoints: new Resource(world.cluster, KINDS.Endpoints, namespace),
    slices: async () => (await slices.list({ labelSelector: `${SERVICE_LABEL}=${NAME}` })).items,
  };
}

const SERVICE: V1Service = {
  metadata: { name: NAME },
  spec: {
    selector: { 'does-not-match-any-pod': 'endpoints-and-endpoint-slices-should-still-be-created' },
    ports: [{ name: 'example', port: 80, protocol: 'TCP' }],
  },
};

/** Endpoints and slices come with a Service and go with it. */
async function followService({ services, endpoints, slices }: Objects): Promise<readonly V1EndpointSlice[]> {
  await services.create(SERVICE);
  await eventually('the Endpoints are there', FOLLOWED_MS, () => endpoints.get(NAME));
  const made = await eventually('a slice is there', FOLLOWED_MS, async () => {
    const found = await slices();
    return found.length > 0 ? found : undefined;
  });
  await services.delete(NAME);
  await eventually('the Endpoints are gone', FOLLOWED_MS, async () => (await endpoints.list()).items.length === 0);
  await eventually('the slices are gone', FOLLOWED_MS, async () => (await slices()).length === 0);
  return made;
}

export const ENDPOINT_PROOFS: readonly Proof[] = [
  proof(
    '[sig-network] EndpointSlice should create and delete EndpointSlices for a Service with a selector that matches no pods [Conformance]',
    async (world) => {
      const [slice, ...rest] = await followService(await objectsOf(world));
      expect(rest).toEqual([]);
      expect(slice?.metadata?.labels?.[MANAGED_BY_LABEL]).toBe('endpointslice-controller.k8s.io');
      expect(slice?.metadata?.ownerReferences).toMatchObject([{ kind: 'Service', name: NAME, controller: true }]);
      expect(slice?.endpoints ?? []).toEqual([]);
    },
  ),

  proof(
    '[sig-network] EndpointsController should create and delete Endpoints for a Service with a selector that matches no pods [Conformance]',
    async (world) => {
      const objects = await objectsOf(world);
      await followService(objects);
      await objects.services.create(SERVICE);
      const found = await eventually('the Endpoints are there again', FOLLOWED_MS, () => objects.endpoints.get(NAME));
      expect(found.subsets ?? []).toEqual([]);
    },
  ),

  proof(
    '[sig-network] EndpointSliceMirroring should mirror a custom Endpoints resource through create update and delete [Conformance]',
    async (world) => {
      const { services, endpoints, slices } = await objectsOf(world);
      await services.create({ metadata: { name: NAME }, spec: { ports: [{ name: 'p', port: 80, protocol: 'TCP' }] } });
      await endpoints.create({
        metadata: { name: NAME },
        subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ name: 'p', port: 80, protocol: 'TCP' }] }],
      });
      const untilMirrored = (ip: string, port: number) =>
        eventually(`${ip}:${port} is mirrored`, FOLLOWED_MS, async () => {
          const [slice, ...rest] = await slices();
          if (slice === undefined || rest.length > 0) return false;
          const addresses = (slice.endpoints ?? []).flatMap((endpoint) => endpoint.addresses);
          return addresses.join() === ip && slice.ports?.length === 1 && slice.ports[0]?.port === port && slice;
        });
      const slice = await untilMirrored('10.1.2.3', 80);
      expect(slice.metadata?.labels?.[MANAGED_BY_LABEL]).toBe('endpointslicemirroring-controller.k8s.io');
      await retryOnConflict(async () => {
        const found = await endpoints.get(NAME);
        const subsets = [{ addresses: [{ ip: '10.2.3.4' }], ports: [{ name: 'p', port: 8080, protocol: 'TCP' }] }];
        return await endpoints.replace({ ...found, subsets });
      });
      await untilMirrored('10.2.3.4', 8080);
      await endpoints.delete(NAME);
      await eventually('the mirror is gone', FOLLOWED_MS, async () => (await slices()).length === 0);
    },
  ),
];
