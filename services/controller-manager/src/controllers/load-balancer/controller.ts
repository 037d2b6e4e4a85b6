import { ignoreNotFound } from '@gantry/client';
import {
  type Cache,
  type ControllerContext,
  type ControllerSpec,
  type ReconcileKey,
  type WatchSpec,
} from '@gantry/controller-runtime';
import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  equalJson,
  keyOf,
  type Node,
  NODES,
  type Service,
  SERVICES,
} from '@gantry/objects';
import { type Action, CLEANUP, hasAddress, hostAddresses, planLoadBalancer, wantsLoadBalancer } from './plan.ts';

/** A changed Service, and with one that gives an address back those that may wait for its ports. */
const watchServices: WatchSpec<Service> = {
  resource: SERVICES,
  keys: (service, old, cache) => {
    const own = [service ?? old].flatMap((one) => (one !== undefined && isOurs(one) ? [keyOf(one)] : []));
    const freed = old !== undefined && hasAddress(old) && !equalJson(portsOf(old), portsOf(service));
    return freed ? [...own, ...waiting(cache)] : own;
  },
};

const watchNodes: WatchSpec<Node> = {
  resource: NODES,
  keys: (node, old, cache) => {
    const [now, before] = [node, old].map((one) => hostAddresses(one === undefined ? [] : [one]));
    return equalJson(now, before) ? [] : cache.list(SERVICES).filter(isOurs).map(keyOf);
  },
};

/** The first endpoints of a Service. */
const watchSlices: WatchSpec<EndpointSlice> = {
  resource: ENDPOINT_SLICES,
  keys: (slice, old) => {
    if (slice === undefined || !hasEndpoints(slice) || (old !== undefined && hasEndpoints(old))) return [];
    const { namespace = '', ownerReferences = [] } = slice.metadata;
    const owner = ownerReferences.find(({ controller, kind }) => controller === true && kind === 'Service');
    return owner === undefined ? [] : [{ namespace, name: owner.name }];
  },
};

/** Gives Services of type LoadBalancer the addresses of the hosts. */
export const loadBalancerController: ControllerSpec = {
  name: 'load-balancer',
  eventSource: 'service-controller',
  // One by one: two Services could take the same port.
  workers: 1,
  watches: [watchServices, watchNodes, watchSlices],
  reconcile: async (key, context, signal) => {
    const { cache } = context;
    const service = cache.get(SERVICES, key);
    if (service === undefined || !isOurs(service)) return {};
    const others = cache
      .list(SERVICES)
      .filter((other) => other.metadata.uid !== service.metadata.uid && hasAddress(other));
    const slices = cache.controlledBy(ENDPOINT_SLICES, key.namespace, service.metadata.uid ?? '');
    const backends = slices.some(hasEndpoints) ? 'some' : 'none';
    const addresses = hostAddresses(cache.list(NODES));
    const { actions } = planLoadBalancer({ service, backends, addresses, others });
    let newest: Service | undefined = service;
    for (const action of actions) {
      if (newest !== undefined) newest = await carryOut(action, newest, context, signal);
    }
    return {};
  },
};

/** The Service after the action; undefined when it is gone. */
async function carryOut(
  action: Action,
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
  return wantsLoadBalancer(service) || service.metadata.finalizers?.includes(CLEANUP) === true;
}

function waiting(cache: Cache): readonly ReconcileKey[] {
  return cache
    .list(SERVICES)
    .filter((service) => wantsLoadBalancer(service) && !hasAddress(service))
    .map(keyOf);
}

function portsOf(service: Service | undefined): unknown[] {
  if (service === undefined || !hasAddress(service)) return [];
  return (service.spec?.ports ?? []).map(({ port, protocol }) => ({ port, protocol: protocol ?? 'TCP' }));
}
