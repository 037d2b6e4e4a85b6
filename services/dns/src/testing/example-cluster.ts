import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { Informers } from '@gantry/controller-runtime';
import { silentLog } from '@gantry/controller-runtime/testing';
import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  type KubeObject,
  type Namespace,
  NAMESPACES,
  type Pod,
  PODS,
  type Service,
  SERVICES,
  type ServiceSpec,
} from '@gantry/objects';
import { PUBLISHED_RESOURCE } from '../publish/published-servers.ts';
import { CachedState, ZONE_RESOURCES } from '../zone/cached-state.ts';

/** A zone over caches that follow a fake API server. */
export interface ExampleCluster {
  readonly client: FakeObjectClient;
  readonly informers: Informers;
  readonly zone: CachedState;
  readonly clock: ManualClock;
  /** Lets the caches take the written objects. */
  settle(): Promise<void>;
}

/** `start: 'unsynced'` leaves the caches empty. The cluster ends with the signal. */
export async function exampleCluster(
  objects: readonly KubeObject[],
  signal: AbortSignal,
  start: 'synced' | 'unsynced' = 'synced',
): Promise<ExampleCluster> {
  const clock = new ManualClock();
  const client = new FakeObjectClient(clock);
  for (const object of objects) await client.put(resourceOf(object), object);
  const informers = new Informers({
    client,
    resources: [...ZONE_RESOURCES, PUBLISHED_RESOURCE],
    clock,
    random: () => 0.5,
    log: silentLog,
  });
  const zone = new CachedState(informers.cache);
  informers.subscribe((event) => zone.take(event));
  if (start === 'synced') void informers.run(signal);
  await clock.advance(0);
  return { client, informers, zone, clock, settle: () => clock.advance(0) };
}

function resourceOf({ kind }: KubeObject) {
  const found = ZONE_RESOURCES.find((resource) => resource.kind === kind);
  if (found === undefined) throw new RangeError(`no resource of the zone has the kind ${kind ?? ''}`);
  return found;
}

export function namespace(name: string): Namespace {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

export function service(namespaceName: string, name: string, spec: ServiceSpec): Service {
  return { apiVersion: 'v1', kind: 'Service', metadata: { namespace: namespaceName, name }, spec };
}

export function pod(namespaceName: string, name: string, podIP: string, phase = 'Running'): Pod {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: namespaceName, name }, status: { podIP, phase } };
}

/** Formats: `10.128.4.1`, `10.128.4.2=hostname`, and `10.128.4.3!` for an endpoint that is not ready. */
export function slice(
  namespaceName: string,
  serviceName: string,
  endpoints: readonly string[],
  ports: NonNullable<EndpointSlice['ports']> = [],
  name = `${serviceName}-x`,
): EndpointSlice & KubeObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: namespaceName, name, labels: { 'kubernetes.io/service-name': serviceName } },
    addressType: 'IPv4',
    endpoints: endpoints.map((text) => {
      const [address = '', hostname] = text.replace('!', '').split('=');
      return {
        addresses: [address],
        conditions: { ready: !text.endsWith('!') },
        ...(hostname === undefined ? {} : { hostname }),
      };
    }),
    ports,
  };
}

export { ENDPOINT_SLICES, NAMESPACES, PODS, SERVICES };
