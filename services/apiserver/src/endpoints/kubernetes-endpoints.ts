import { type Endpoints, type EndpointSlice, equalJson, findResource, isReason, type KubeObject } from '@gantry/api';
import { type Clock, errorMessage, must, pause } from '@gantry/base';
import type { GroupMember, Logger } from '@gantry/service';
import type { Driver, RequestContext, User } from '../driver.ts';
import type { PeerAddress, PeerRegistry } from './peer-registry.ts';

export interface KubernetesEndpointsOptions {
  readonly driver: Driver;
  readonly registry: PeerRegistry;
  /** In whose name the objects are written. */
  readonly user: User;
  /** Resolves when objects can be written. */
  readonly whenReady: (signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const EVERY_MS = 5000;
const RETRY_MS = 500;
const NAME = 'kubernetes';
const NAMESPACE = 'default';
const ENDPOINTS = { group: '', version: 'v1', resource: 'endpoints' } as const;
const SLICES = { group: 'discovery.k8s.io', version: 'v1', resource: 'endpointslices' } as const;
const OPTIONS = { dryRun: false, fieldManager: 'kube-apiserver', fieldValidation: 'Strict' } as const;

/**
 * Keeps Endpoints and EndpointSlice of `default/kubernetes` true: the addresses of all apiservers that live. Every apiserver does,
 * and writes only what differs.
 */
export function kubernetesEndpoints(options: KubernetesEndpointsOptions): GroupMember {
  const { registry, clock, logger } = options;
  const onError = (error: unknown): void =>
    logger.warn({ reason: errorMessage(error) }, 'the endpoints of default/kubernetes are tried again');
  return {
    name: 'kubernetes-endpoints',
    run: async (signal) => {
      const listed = registry.run(signal);
      let failed = false;
      while (!signal.aborted) {
        try {
          await options.whenReady(signal);
          await reconcile(options, await registry.list(signal), signal);
          failed = false;
        } catch (error) {
          // Another apiserver was faster: what it wrote is looked at in the next round.
          if (!signal.aborted && !failed && !isReason(error, 'Conflict')) onError(error);
          failed = true;
        }
        await pause(clock, failed ? RETRY_MS : EVERY_MS, signal);
      }
      await listed;
    },
  };
}

async function reconcile(
  options: KubernetesEndpointsOptions,
  peers: readonly PeerAddress[],
  signal: AbortSignal,
): Promise<void> {
  if (peers.length === 0) return;
  const context: RequestContext = { user: options.user, signal, fence: undefined, warn: () => undefined };
  const endpoints = endpointsOf(peers);
  await put(options.driver, context, ENDPOINTS, endpoints, (stored) =>
    equalJson((stored as Endpoints).subsets, endpoints.subsets),
  );
  const slice = sliceOf(peers);
  await put(options.driver, context, SLICES, slice, (stored) => {
    const { endpoints: there, ports } = stored as EndpointSlice & KubeObject;
    return equalJson(there, slice.endpoints) && equalJson(ports, slice.ports);
  });
}

/** Creates the object, or replaces it unless it is as it should be. */
async function put(
  driver: Driver,
  context: RequestContext,
  ref: typeof ENDPOINTS | typeof SLICES,
  object: KubeObject,
  isCurrent: (stored: KubeObject) => boolean,
): Promise<void> {
  const definition = must(findResource(ref), ref.resource);
  const target = { definition, namespace: NAMESPACE, name: NAME, subresource: '' };
  const bodyOf = (value: KubeObject) =>
    ({ bytes: new TextEncoder().encode(JSON.stringify(value)), mediaType: 'application/json' }) as const;
  const stored = await driver.get(context, target, '0').catch((error: unknown) => {
    if (isReason(error, 'NotFound')) return undefined;
    throw error;
  });
  if (stored === undefined) await driver.create(context, { ...target, name: '' }, bodyOf(object), OPTIONS);
  else if (!isCurrent(stored.object)) {
    const { resourceVersion } = stored.object.metadata;
    const metadata = { ...object.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
    await driver.update(context, target, bodyOf({ ...object, metadata }), OPTIONS);
  }
}

/** The ports that the addresses share; several only where apiservers listen on several. */
function byPort(peers: readonly PeerAddress[]): readonly (readonly [port: number, ips: readonly string[]])[] {
  return [...Map.groupBy(peers, ({ port }) => port)].map(([port, same]) => [port, same.map(({ ip }) => ip)]);
}

function endpointsOf(peers: readonly PeerAddress[]): Endpoints & KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: NAME, namespace: NAMESPACE, labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
    subsets: byPort(peers).map(([port, ips]) => ({
      addresses: ips.map((ip) => ({ ip })),
      ports: [{ name: 'https', port, protocol: 'TCP' }],
    })),
  };
}

/** One slice holds one set of ports: that of the most apiservers. */
function sliceOf(peers: readonly PeerAddress[]): EndpointSlice & KubeObject {
  const [most] = byPort(peers).toSorted(([, one], [, other]) => other.length - one.length);
  const [port, ips] = must(most, 'an address');
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: NAME, namespace: NAMESPACE, labels: { 'kubernetes.io/service-name': NAME } },
    addressType: 'IPv4',
    endpoints: ips.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
    ports: [{ name: 'https', port, protocol: 'TCP' }],
  };
}
