import { ignoreNotFound } from '@gantry/client';
import type { Cache, ControllerContext, ControllerSpec, ReconcileKey, WatchSpec } from '@gantry/controller-runtime';
import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  equalJson,
  formatKey,
  keyOf,
  type Node,
  NODES,
  podAddresses,
  type Service,
  SERVICE_NAME_LABEL,
  SERVICES,
} from '@gantry/objects';
import {
  type Action,
  addressOf,
  forwardedFrom,
  needsCleanup,
  planLoadBalancer,
  servingNodes,
  wantsLoadBalancer,
} from './plan.ts';

export interface LoadBalancerOptions {
  /** The range of the pod network; a part of it is for load balancers. */
  readonly podCidr: string;
}

/** Milliseconds for which changes of hosts are collected before load balancers are reconciled. */
const COLLECTING_MS = 1000;

/** Queues a changed Service. If it releases an address, also those that may wait for one. */
const watchServices: WatchSpec<Service> = {
  resource: SERVICES,
  keys: (service, old, cache) => {
    const own = [service ?? old].flatMap((one) => (one !== undefined && isOurs(one) ? [keyOf(one)] : []));
    const before = old === undefined ? '' : addressOf(old);
    const isFreed = before !== '' && (service === undefined || addressOf(service) !== before);
    return isFreed ? [...own, ...waiting(cache)] : own;
  },
};

const watchNodes = (podCidr: string): WatchSpec<Node> => ({
  resource: NODES,
  keys: (node, old, cache) => {
    const [now, before] = [node, old].map((one) => one !== undefined && servingNodes([one], podCidr).length > 0);
    const [from, fromBefore] = [node, old].map((one) => (one === undefined ? [] : forwardedFrom([one])).join());
    if (from !== fromBefore) return cache.list(SERVICES).filter(wantsLoadBalancer).map(keyOf);
    return now === before ? [] : waiting(cache);
  },
});

/**
 * Queues load balancers after Nodes start or stop serving, with a delay. Each load balancer has all serving nodes as hosts and reports
 * changes.
 */
const watchHosts = (podCidr: string): WatchSpec<Node> => ({
  resource: NODES,
  keys: (node, old, cache) => {
    const [now, before] = [node, old].map((one) => (one === undefined ? [] : servingNodes([one], podCidr)));
    return equalJson(now, before) ? [] : cache.list(SERVICES).filter(wantsLoadBalancer).map(keyOf);
  },
  delayMs: () => COLLECTING_MS,
});

/** Queues a Service when it gets its first endpoints. */
const watchSlices: WatchSpec<EndpointSlice> = {
  resource: ENDPOINT_SLICES,
  keys: (slice, old) => {
    if (slice === undefined || !hasEndpoints(slice) || (old !== undefined && hasEndpoints(old))) return [];
    const { namespace = '', labels } = slice.metadata;
    const name = labels?.[SERVICE_NAME_LABEL] ?? '';
    return name === '' ? [] : [{ namespace, name }];
  },
};

/** Assigns addresses to Services of type LoadBalancer. */
export function createLoadBalancerController({ podCidr }: LoadBalancerOptions): ControllerSpec {
  const given = new GivenAddresses();
  /** By the key of the Service. */
  const notedHosts = new Map<string, readonly string[]>();
  const hosts = createHostView(podCidr);
  const range = podAddresses(podCidr)?.loadBalancers;
  return {
    name: 'load-balancer',
    eventSource: 'service-controller',
    // One at a time: otherwise two Services could get the same address.
    workers: 1,
    watches: [watchServices, watchNodes(podCidr), watchHosts(podCidr), watchSlices],
    begin: () => {
      given.clear();
      notedHosts.clear();
    },
    reconcile: async (key, context, signal) => {
      const { cache } = context;
      const id = formatKey(key);
      const service = cache.get(SERVICES, key);
      if (service === undefined || !wantsLoadBalancer(service)) notedHosts.delete(id);
      if (service === undefined || !isOurs(service)) return {};
      const { serving, forwarding } = hosts(cache);
      const observed = {
        service,
        backends: backendsOf(service, cache),
        forwardedFrom: forwarding,
        hosts: serving,
        hostsBefore: notedHosts.get(id),
        range: addressOf(service) !== '' || serving.length > 0 ? range : undefined,
        taken: given.others(service, cache.list(SERVICES)),
      };
      let newest: Service | undefined = service;
      for (const action of planLoadBalancer(observed).actions) {
        if (action.kind === 'noteHosts') notedHosts.set(id, action.hosts);
        else if (newest !== undefined) newest = await carryOut(action, newest, context, signal);
        if (newest !== undefined && action.kind === 'updateStatus') given.note(newest);
      }
      return {};
    },
  };
}

/** The Nodes' data for load balancers, computed once per state of the cache. */
function createHostView(podCidr: string) {
  let reached: number | undefined;
  let view = { serving: servingNodes([], podCidr), forwarding: forwardedFrom([]) };
  return (cache: Cache) => {
    const now = cache.reached(NODES);
    if (now !== reached) {
      const nodes = cache.list(NODES);
      view = { serving: servingNodes(nodes, podCidr), forwarding: forwardedFrom(nodes) };
      reached = now;
    }
    return view;
  };
}

/**
 * Whether a Service has endpoints. Endpoints of a Service without a selector are written by others, possibly later, so it does not wait for
 * them.
 */
function backendsOf({ metadata, spec }: Service, cache: Cache): 'some' | 'none' {
  if (Object.keys(spec?.selector ?? {}).length === 0) return 'some';
  const labels = { [SERVICE_NAME_LABEL]: metadata.name ?? '' };
  const slices = cache.labelled(ENDPOINT_SLICES, metadata.namespace ?? '', labels);
  const own = slices.filter((slice) => slice.metadata.labels?.[SERVICE_NAME_LABEL] === metadata.name);
  return own.some(hasEndpoints) ? 'some' : 'none';
}

/** The Service after the action; undefined if it has been deleted. */
async function carryOut(
  action: Exclude<Action, { kind: 'noteHosts' }>,
  service: Service,
  { client, events }: ControllerContext,
  signal: AbortSignal,
): Promise<Service | undefined> {
  if (action.kind === 'event') {
    events.event(service, action.type, action.reason, action.message);
    return service;
  }
  const { uid, resourceVersion } = service.metadata;
  if (action.kind === 'setFinalizers') {
    const { finalizers } = action.service.metadata;
    const merge = { metadata: { uid, resourceVersion, finalizers } };
    return await ignoreNotFound(client.patch(SERVICES, keyOf(service), { merge }, signal));
  }
  const { loadBalancer } = action.service.status ?? {};
  const metadata = { ...service.metadata };
  return await ignoreNotFound(
    client.updateStatus(SERVICES, { ...service, metadata, status: { ...service.status, loadBalancer } }, signal),
  );
}

function hasEndpoints({ endpoints }: EndpointSlice): boolean {
  return (endpoints ?? []).length > 0;
}

function isOurs(service: Service): boolean {
  return wantsLoadBalancer(service) || needsCleanup(service);
}

function waiting(cache: Cache): readonly ReconcileKey[] {
  return cache
    .list(SERVICES)
    .filter((service) => wantsLoadBalancer(service) && addressOf(service) === '')
    .map(keyOf);
}

/**
 * Addresses that this term has written, until the cache shows them: so two simultaneous Services never get the same one. Addresses of
 * earlier leaders are in the cache when a term begins; later writes of those leaders fail.
 */
export class GivenAddresses {
  /** By the uid of the Service. */
  readonly #given = new Map<string, string>();

  clear(): void {
    this.#given.clear();
  }

  note(service: Service): void {
    const { uid = '' } = service.metadata;
    const address = addressOf(service);
    if (address === '') this.#given.delete(uid);
    else this.#given.set(uid, address);
  }

  /** The addresses of all other Services: those in the cache, and those that the cache does not show yet. */
  others(service: Service, all: readonly Service[]): ReadonlySet<string> {
    const shown = new Map(all.map((one) => [one.metadata.uid ?? '', addressOf(one)]));
    for (const [uid, address] of this.#given)
      if (!shown.has(uid) || shown.get(uid) === address) this.#given.delete(uid);
    const known = new Map([...shown, ...this.#given]);
    known.delete(service.metadata.uid ?? '');
    return new Set([...known.values()].filter((address) => address !== ''));
  }
}
