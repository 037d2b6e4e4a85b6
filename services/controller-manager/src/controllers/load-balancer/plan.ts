import type { Plan } from '@gantry/base';
import { equalJson, type Node, type Service, type ServicePort } from '@gantry/objects';

export type Action =
  /** Adds the finalizer, or takes it away. */
  | { readonly kind: 'setFinalizers'; readonly service: Service }
  | { readonly kind: 'updateStatus'; readonly service: Service }
  | {
      readonly kind: 'event';
      readonly type: 'Normal' | 'Warning';
      readonly reason: string;
      readonly message: string;
    };

/** Holds a Service until its load balancer is gone. */
export const CLEANUP = 'service.kubernetes.io/load-balancer-cleanup';
const EXCLUDED = 'node.kubernetes.io/exclude-from-external-load-balancers';

export interface ObservedService {
  readonly service: Service;
  /** Whether there is a pod behind it, ready or not. */
  readonly backends: 'some' | 'none';
  /** Addresses of the hosts, sorted. */
  readonly addresses: readonly string[];
  /** The other Services that have an address. */
  readonly others: readonly Service[];
}

/** Whether a Service wants its load balancer from here: one that names a class wants it from that. */
export function wantsLoadBalancer({ metadata, spec }: Service): boolean {
  return (
    metadata.deletionTimestamp === undefined && spec?.type === 'LoadBalancer' && spec.loadBalancerClass === undefined
  );
}

/** Whether a Service has an address of a host. */
export function hasAddress({ status }: Service): boolean {
  return (status?.loadBalancer?.ingress ?? []).length > 0;
}

/** The addresses under which hosts are reached from outside of the cluster, of the nodes that load balancers may use. */
export function hostAddresses(nodes: readonly Node[]): readonly string[] {
  const usable = nodes.filter(({ metadata }) => metadata.labels?.[EXCLUDED] === undefined);
  const addresses = usable.flatMap(({ status }) => status?.addresses ?? []);
  return [...new Set(addresses.filter(({ type }) => type === 'ExternalIP').map(({ address }) => address))].sort();
}

/**
 * Gives a Service the addresses of the hosts, as Kubernetes' service controller does with those of a cloud's load balancer. All
 * share the hosts' addresses: a port belongs to the Service that has it, and another one waits. So a Service takes its ports when the
 * first pod is behind it, unlike with a cloud, and then keeps them. Without an address nothing is done.
 */
export function planLoadBalancer(observed: ObservedService): Plan<Action> {
  const { service, addresses, backends } = observed;
  if (!wantsLoadBalancer(service)) return { actions: planCleanup(service) };
  const isHeld = service.metadata.finalizers?.includes(CLEANUP) === true;
  if (addresses.length === 0 || (backends === 'none' && !isHeld)) return { actions: [] };
  const taken = takenPort(observed);
  if (taken !== undefined && !hasAddress(service)) {
    const message = `Error syncing load balancer: failed to ensure load balancer: ${taken}`;
    return { actions: [{ kind: 'event', type: 'Warning', reason: 'SyncLoadBalancerFailed', message }] };
  }
  const changes = [...planFinalizer(service), ...planAddresses(service, addresses)];
  return { actions: changes.length === 0 ? [] : between('Ensuring', 'Ensured', changes) };
}

function planCleanup(service: Service): readonly Action[] {
  const { finalizers = [] } = service.metadata;
  if (!finalizers.includes(CLEANUP)) return [];
  const left = { ...service.metadata, finalizers: finalizers.filter((one) => one !== CLEANUP) };
  const changes: readonly Action[] = [
    ...planAddresses(service, []),
    { kind: 'setFinalizers', service: { ...service, metadata: left } },
  ];
  return between('Deleting', 'Deleted', changes);
}

function between(begin: string, end: string, changes: readonly Action[]): readonly Action[] {
  const event = (verb: string): Action => ({
    kind: 'event',
    type: 'Normal',
    reason: `${verb}LoadBalancer`,
    message: `${verb} load balancer`,
  });
  return [event(begin), ...changes, event(end)];
}

function planFinalizer(service: Service): readonly Action[] {
  const { finalizers = [] } = service.metadata;
  if (finalizers.includes(CLEANUP)) return [];
  const metadata = { ...service.metadata, finalizers: [...finalizers, CLEANUP] };
  return [{ kind: 'setFinalizers', service: { ...service, metadata } }];
}

function planAddresses(service: Service, addresses: readonly string[]): readonly Action[] {
  const ingress = addresses.map((ip) => ({ ip, ipMode: 'VIP' }));
  if (equalJson(service.status?.loadBalancer?.ingress ?? [], ingress)) return [];
  const loadBalancer = ingress.length === 0 ? {} : { ingress };
  return [{ kind: 'updateStatus', service: { ...service, status: { ...service.status, loadBalancer } } }];
}

function takenPort({ service, others }: ObservedService): string | undefined {
  const wanted = new Set((service.spec?.ports ?? []).map(describePort));
  for (const { metadata, spec } of others) {
    const port = spec?.ports?.map(describePort).find((one) => wanted.has(one));
    if (port !== undefined) return `port ${port} is used by Service ${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
  }
  return undefined;
}

function describePort({ port, protocol = 'TCP' }: ServicePort): string {
  return `${port}/${protocol}`;
}
