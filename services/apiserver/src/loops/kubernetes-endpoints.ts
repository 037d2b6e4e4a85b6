import { type Clock, ControlLoop, errorMessage, must } from '@gantry/base';
import {
  ENDPOINT_SLICES,
  ENDPOINTS,
  type Endpoints,
  type EndpointSlice,
  equalJson,
  type KubeObject,
  SERVICE_NAME_LABEL,
  SKIP_MIRROR_LABEL,
} from '@gantry/objects';
import type { GroupMember, Logger } from '@gantry/service';
import type { LoopbackClient } from '../loopback-client.ts';
import type { PeerAddress, PeerRegistry } from '../peer-registry.ts';

export interface KubernetesEndpointsOptions {
  readonly client: LoopbackClient;
  readonly peers: PeerRegistry;
  /** Resolves when writes are possible. */
  readonly whenReady: (signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const EVERY_MS = 5000;
const RETRY_MS = 500;
const NAME = 'kubernetes';
const NAMESPACE = 'default';

/**
 * Maintains Endpoints and EndpointSlice of the Service `default/kubernetes`, with the addresses of all live apiservers. Every apiserver
 * runs it and writes only differences.
 */
export function kubernetesEndpoints(options: KubernetesEndpointsOptions): GroupMember {
  const { peers, clock, logger, whenReady } = options;
  const loop = new ControlLoop({
    name: 'kubernetes-endpoints',
    clock,
    intervalMs: EVERY_MS,
    retry: { initialMs: RETRY_MS, maxMs: EVERY_MS },
    round: async (signal) => {
      await whenReady(signal);
      const isDone = await reconcile(options.client, await peers.list(signal), signal);
      return isDone ? EVERY_MS : RETRY_MS;
    },
    onError: (error, failures) => {
      if (failures > 1) return;
      logger.warn({ reason: errorMessage(error) }, 'writing the endpoints of default/kubernetes failed, retrying');
    },
  });
  return {
    name: loop.name,
    run: async (signal) => {
      await Promise.all([peers.run(signal), loop.run(signal)]);
    },
  };
}

/** Returns false after a conflict with another apiserver. The next round compares the new state. */
async function reconcile(client: LoopbackClient, peers: readonly PeerAddress[], signal: AbortSignal): Promise<boolean> {
  if (peers.length === 0) return true;
  const endpoints = endpointsOf(peers);
  const slice = sliceOf(peers);
  return (
    (await put(client, ENDPOINTS, endpoints, (stored) => equalJson(stored.subsets, endpoints.subsets), signal)) &&
    (await put(
      client,
      ENDPOINT_SLICES,
      slice,
      (stored) => equalJson(stored.endpoints, slice.endpoints) && equalJson(stored.ports, slice.ports),
      signal,
    ))
  );
}

/** Creates the object, or replaces the stored one unless it is current. Returns false after a conflict. */
async function put<T extends KubeObject>(
  client: LoopbackClient,
  ref: typeof ENDPOINTS | typeof ENDPOINT_SLICES,
  object: T,
  isCurrent: (stored: T) => boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const stored = await client.get(ref, object.metadata, 'cached', signal);
  if (stored === undefined) return (await client.create(ref, object, signal)) !== undefined;
  if (isCurrent(stored as T)) return true;
  const { resourceVersion } = stored.metadata;
  const metadata = { ...object.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
  return (await client.update(ref, { ...object, metadata }, '', signal)) !== undefined;
}

/** Groups the addresses by port. There are several groups only if apiservers use different ports. */
function byPort(peers: readonly PeerAddress[]): readonly (readonly [port: number, ips: readonly string[]])[] {
  return [...Map.groupBy(peers, ({ port }) => port)].map(([port, same]) => [port, same.map(({ ip }) => ip)]);
}

function endpointsOf(peers: readonly PeerAddress[]): Endpoints & KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: NAME, namespace: NAMESPACE, labels: { [SKIP_MIRROR_LABEL]: 'true' } },
    subsets: byPort(peers).map(([port, ips]) => ({
      addresses: ips.map((ip) => ({ ip })),
      ports: [{ name: 'https', port, protocol: 'TCP' }],
    })),
  };
}

/** An EndpointSlice has one set of ports, so it uses the port of most apiservers. */
function sliceOf(peers: readonly PeerAddress[]): EndpointSlice & KubeObject {
  const [most] = byPort(peers).toSorted(([, one], [, other]) => other.length - one.length);
  const [port, ips] = must(most, 'an address');
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: NAME, namespace: NAMESPACE, labels: { [SERVICE_NAME_LABEL]: NAME } },
    addressType: 'IPv4',
    endpoints: ips.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
    ports: [{ name: 'https', port, protocol: 'TCP' }],
  };
}
