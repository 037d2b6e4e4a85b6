import { type Clock, ControlLoop, errorMessage, formatTime, must, type Random } from '@gantry/base';
import {
  EVENTS,
  isReason,
  type KubeObject,
  NAMESPACES,
  ownServiceAddresses,
  type ResourceRef,
  type Service,
  SERVICE_CIDRS,
  type ServiceCIDR,
  type ServicePort,
  SERVICES,
  type ServiceSpec,
  StatusError,
} from '@gantry/objects';
import type { GroupMember, Logger } from '@gantry/service';
import { createAllocators, type Duplicate } from '../../allocators/index.ts';
import { objectKey, type WatchCache } from '../../cache/index.ts';
import type { ObjectStore } from '../../storage/index.ts';
import type { LoopbackClient } from '../../loopback-client.ts';
import { serviceEvent, type ServiceWarning } from '../warning-events.ts';
import { type StandingObject, standingObjects } from './standing-objects.ts';

const STANDING_NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];
const RETRY = { initialMs: 500, maxMs: 5000 };
/** The interval between checks of the namespaces when none changes, as in Kubernetes. */
const INTERVAL_MS = 60_000;

export interface BootstrapOptions {
  /** The built-in resources. */
  readonly resources: readonly ResourceRef[];
  readonly client: LoopbackClient;
  readonly store: ObjectStore;
  readonly cache: WatchCache;
  readonly clock: Clock;
  readonly random: Random;
  /** Range of Service addresses, such as `10.96.0.0/16`. */
  readonly serviceCidr: string;
  /** Called once, when all objects exist. */
  readonly onDone: () => void;
  readonly logger: Logger;
}

/**
 * Once: creates the standing objects, and repairs the claims of Services. After that: creates a standing namespace again when it is
 * missing. Idempotent; several apiservers may run it at the same time.
 */
export function bootstrapLoop(options: BootstrapOptions): GroupMember {
  const { cache, client, clock, logger, onDone } = options;
  let state: 'starting' | 'done' = 'starting';
  return new ControlLoop({
    name: 'bootstrap',
    clock,
    intervalMs: INTERVAL_MS,
    retry: RETRY,
    subscribe: (notify) => [
      cache.resource(NAMESPACES).observe(() => {
        if (state === 'done' && STANDING_NAMESPACES.some((name) => !isCached(cache, name))) notify();
      }),
    ],
    round: async (signal) => {
      await cache.whenReady(signal);
      if (state === 'done') {
        await ensureNamespaces(client, signal);
        return;
      }
      await bootstrap(options, signal);
      state = 'done';
      onDone();
    },
    onError: (error) => logger.warn({ reason: errorMessage(error) }, 'bootstrap failed, retrying'),
  });
}

async function bootstrap(options: BootstrapOptions, signal: AbortSignal): Promise<void> {
  const { client, cache, resources, serviceCidr } = options;
  const duplicates = await createAllocators(options).repair(storedServices(cache), signal);
  await ensureNamespaces(client, signal);
  await ensure(client, SERVICES, kubernetesService(serviceCidr), signal);
  await ensureDnsService(options, signal);
  await ensureServiceRange(options, signal);
  await ensureStandingObjects(client, standingObjects(resources), signal);
  await reportDuplicates(options, duplicates, signal);
}

/** Creates the Service of the cluster's DNS. If another Service has its address, logs that and continues without it. */
async function ensureDnsService({ client, serviceCidr, logger }: BootstrapOptions, signal: AbortSignal): Promise<void> {
  try {
    await ensure(client, SERVICES, dnsService(serviceCidr), signal);
  } catch (error) {
    if (!isReason(error, 'Invalid')) throw error;
    logger.warn({ reason: errorMessage(error) }, 'the Service kube-system/kube-dns cannot be made: pods find no names');
  }
}

/** Logs the addresses and ports that several Services have, and records Kubernetes' Events about them. */
async function reportDuplicates(
  { client, clock, logger }: BootstrapOptions,
  duplicates: readonly Duplicate[],
  signal: AbortSignal,
): Promise<void> {
  for (const duplicate of duplicates) {
    const warning = duplicateWarning(duplicate);
    const { namespace, name } = duplicate.service.metadata;
    logger.warn({ service: `${namespace ?? ''}/${name ?? ''}`, ...duplicate.held }, warning.message);
    try {
      await ensure(client, EVENTS, serviceEvent(warning, formatTime(clock.now())), signal);
    } catch (error) {
      // The namespace may be terminating or have a quota. That must not stop the apiserver.
      if (signal.aborted || !(error instanceof StatusError) || error.code >= 500) throw error;
      logger.warn({ reason: errorMessage(error) }, 'cannot record the Event');
    }
  }
}

function duplicateWarning({ service, held }: Duplicate): ServiceWarning {
  const [what, reason, value] =
    held.kind === 'address'
      ? [`Cluster IP ${held.address}`, 'ClusterIPAlreadyAllocated', held.address]
      : [`Port ${held.port}`, 'PortAlreadyAllocated', String(held.port)];
  return {
    service,
    source: held.kind === 'address' ? 'ipallocator-repair-controller' : 'portallocator-repair-controller',
    reason,
    message: `${what} was assigned to multiple services; please recreate service`,
    value,
  };
}

function isCached(cache: WatchCache, name: string): boolean {
  return cache.resource(NAMESPACES).get(objectKey(NAMESPACES, '', name)) !== undefined;
}

/** Creates missing standing namespaces. A terminating one is created again after its deletion. */
async function ensureNamespaces(client: LoopbackClient, signal: AbortSignal): Promise<void> {
  for (const name of STANDING_NAMESPACES) await ensure(client, NAMESPACES, namespace(name), signal);
}

/** Creates missing objects and corrects changed ones. Objects of one resource are handled concurrently. */
export async function ensureStandingObjects(
  client: LoopbackClient,
  all: readonly StandingObject[],
  signal: AbortSignal,
): Promise<void> {
  const byResource = Map.groupBy(all, ({ group, resource }) => `${group}/${resource}`);
  for (const objects of byResource.values()) {
    await Promise.all(objects.map((standing) => ensureStanding(client, standing, signal)));
  }
}

async function ensureStanding(client: LoopbackClient, standing: StandingObject, signal: AbortSignal): Promise<void> {
  const { group, resource, object, corrected } = standing;
  const ref = { group, version: 'v1', resource };
  await ensure(client, ref, object, signal);
  if (corrected === undefined) return;
  for (let freshness: 'cached' | 'latest' = 'cached'; ; freshness = 'latest') {
    const stored = await client.get(ref, object.metadata, freshness, signal);
    const wanted = stored === undefined ? undefined : corrected(stored);
    if (wanted === undefined || (await client.update(ref, wanted, '', signal)) !== undefined) return;
  }
}

/** Creates the ServiceCIDR of the cluster, with its condition Ready. */
async function ensureServiceRange(
  { client, serviceCidr, clock }: BootstrapOptions,
  signal: AbortSignal,
): Promise<void> {
  const range: ServiceCIDR & KubeObject = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: { name: 'kubernetes' },
    spec: { cidrs: [serviceCidr] },
  };
  await ensure(client, SERVICE_CIDRS, range, signal);
  const stored: (ServiceCIDR & KubeObject) | undefined = await client.get(
    SERVICE_CIDRS,
    range.metadata,
    'latest',
    signal,
  );
  if (stored === undefined || (stored.status?.conditions ?? []).some(({ type }) => type === 'Ready')) return;
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: '',
    message: 'Kubernetes default Service CIDR is ready',
    lastTransitionTime: formatTime(clock.now()),
  };
  await client.update(SERVICE_CIDRS, { ...stored, status: { conditions: [ready] } } as KubeObject, 'status', signal);
}

function storedServices(cache: WatchCache): readonly Service[] {
  const entries = cache.resource(SERVICES).snapshot();
  return entries.map((entry) => entry.response.object as Service);
}

/** Creates the object unless it exists. Another apiserver may create it at the same time. */
async function ensure(
  client: LoopbackClient,
  ref: ResourceRef,
  object: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  if ((await client.get(ref, object.metadata, 'cached', signal)) !== undefined) return;
  try {
    await client.create(ref, object, signal);
  } catch (error) {
    // Another apiserver may have created it meanwhile. It then has the claims, so that this create fails.
    if ((await client.get(ref, object.metadata, 'latest', signal)) === undefined) throw error;
  }
}

function namespace(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

function ownAddresses(serviceCidr: string) {
  return must(ownServiceAddresses(serviceCidr), `${JSON.stringify(serviceCidr)} as the range of Services`);
}

/** The spec of a Service without a selector, with a fixed address. */
function fixedAddress(address: string, ports: readonly ServicePort[]): ServiceSpec {
  return {
    type: 'ClusterIP',
    clusterIP: address,
    clusterIPs: [address],
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    ports: [...ports],
    sessionAffinity: 'None',
  };
}

function kubernetesService(serviceCidr: string): KubeObject {
  const address = ownAddresses(serviceCidr).kubernetes;
  const service: Service & KubeObject = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'kubernetes',
      namespace: 'default',
      labels: { component: 'apiserver', provider: 'kubernetes' },
    },
    spec: fixedAddress(address, [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 6443 }]),
  };
  return service;
}

/** The DNS Service has no selector: the DNS servers write its endpoints. Names and labels are those of Kubernetes' manifest. */
function dnsService(serviceCidr: string): KubeObject {
  const address = ownAddresses(serviceCidr).dns;
  const service: Service & KubeObject = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'kube-dns',
      namespace: 'kube-system',
      labels: {
        'k8s-app': 'kube-dns',
        'kubernetes.io/cluster-service': 'true',
        'kubernetes.io/name': 'CoreDNS',
      },
      annotations: { 'prometheus.io/port': '9153', 'prometheus.io/scrape': 'true' },
    },
    spec: fixedAddress(address, [
      { name: 'dns', port: 53, protocol: 'UDP', targetPort: 53 },
      { name: 'dns-tcp', port: 53, protocol: 'TCP', targetPort: 53 },
      { name: 'metrics', port: 9153, protocol: 'TCP', targetPort: 9153 },
    ]),
  };
  return service;
}
