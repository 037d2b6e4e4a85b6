import type { Plan } from '@gantry/base';
import {
  type AddressRange,
  equalJson,
  FORWARDED_FROM_ANNOTATION,
  formatIpv4,
  isWithin,
  type LoadBalancerIngress,
  type Node,
  podAddresses,
  type Service,
} from '@gantry/objects';

export type Action =
  /** Adds or removes the finalizer. */
  | { readonly kind: 'setFinalizers'; readonly service: Service }
  | { readonly kind: 'updateStatus'; readonly service: Service }
  /** Remembers for this term through which hosts the Service is reachable. */
  | { readonly kind: 'noteHosts'; readonly hosts: readonly string[] }
  | {
      readonly kind: 'event';
      readonly type: 'Normal' | 'Warning';
      readonly reason: string;
      readonly message: string;
    };

/** Finalizer that keeps a Service until its load balancer is removed. */
export const CLEANUP = 'service.kubernetes.io/load-balancer-cleanup';
const LOOPBACK = '127.0.0.1';
const EXCLUDED = 'node.kubernetes.io/exclude-from-external-load-balancers';
/** Values that Go parses as false: with such a value the label excludes nothing. */
const FALSE_VALUES: ReadonlySet<string> = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);
/** The cluster autoscaler's taint on a node that it is about to remove. */
const TO_BE_DELETED = 'ToBeDeletedByClusterAutoscaler';

export interface ObservedService {
  readonly service: Service;
  /** Whether the Service has pods, ready or not. `some` also for a Service without a selector, whose endpoints others manage. */
  readonly backends: 'some' | 'none';
  /** The addresses for load balancers; undefined if no host serves them. */
  readonly range: AddressRange | undefined;
  /** Names of the serving hosts' Nodes now, and as last noted in this term. */
  readonly hosts: readonly string[];
  readonly hostsBefore: readonly string[] | undefined;
  /** Addresses from which hosts forward to the Service, in addition to its own. */
  readonly forwardedFrom: readonly string[];
  /** Addresses of the other Services. */
  readonly taken: ReadonlySet<string>;
}

/** Whether this controller provides the Service's load balancer: not if the Service names a class. */
export function wantsLoadBalancer({ metadata, spec }: Service): boolean {
  return (
    metadata.deletionTimestamp === undefined && spec?.type === 'LoadBalancer' && spec.loadBalancerClass === undefined
  );
}

/**
 * Whether a Service has a load balancer from here that it no longer needs. For a Service with a class, the class's controller manages the
 * finalizer.
 */
export function needsCleanup({ metadata, spec }: Service): boolean {
  if (metadata.finalizers?.includes(CLEANUP) !== true) return false;
  return metadata.deletionTimestamp !== undefined || spec?.type !== 'LoadBalancer';
}

/** The address of a Service's load balancer; '' without one. */
export function addressOf({ status }: Service): string {
  return status?.loadBalancer?.ingress?.[0]?.ip ?? '';
}

/**
 * Names of Nodes that load balancers may use and whose host serves these addresses, which it does if it has an own address in the range.
 * Sorted.
 */
export function servingNodes(nodes: readonly Node[], podCidr: string): readonly string[] {
  const part = podAddresses(podCidr)?.nodes;
  const isServing = (node: Node) =>
    mayServe(node) &&
    (node.status?.addresses ?? []).some(
      ({ type, address }) => type === 'InternalIP' && part !== undefined && isWithin(part, address),
    );
  return nodes.flatMap((node) => (isServing(node) ? [node.metadata.name ?? ''] : [])).sort();
}

/** The loopback addresses from which hosts forward ports of load balancers; at most one, because agents may write any text. */
export function forwardedFrom(nodes: readonly Node[]): readonly string[] {
  const isForwarding = (node: Node) => node.metadata.annotations?.[FORWARDED_FROM_ANNOTATION] === LOOPBACK;
  return nodes.some((node) => mayServe(node) && isForwarding(node)) ? [LOOPBACK] : [];
}

/** Whether load balancers may use a Node. */
function mayServe({ metadata, spec }: Node): boolean {
  const excluded = metadata.labels?.[EXCLUDED];
  if (excluded !== undefined && !FALSE_VALUES.has(excluded)) return false;
  return metadata.deletionTimestamp === undefined && spec?.taints?.some(({ key }) => key === TO_BE_DELETED) !== true;
}

/**
 * Assigns an address to a Service, as Kubernetes' service controller does with a cloud's load balancer. A Service gets its address when it
 * has its first pod, because nothing would respond before. It keeps the address until it no longer needs one.
 */
export function planLoadBalancer(observed: ObservedService): Plan<Action> {
  const { service, range, backends } = observed;
  if (!wantsLoadBalancer(service)) return { actions: needsCleanup(service) ? planCleanup(service) : [] };
  const isHeld = service.metadata.finalizers?.includes(CLEANUP) === true;
  if (backends === 'none' && !isHeld) return { actions: [] };
  const hosts = planHosts(observed);
  if (range === undefined) return { actions: [...hosts.reports, ...hosts.notes] };
  const chosen = chooseAddress(observed, range);
  if (chosen.kind === 'none') {
    const message = `Error syncing load balancer: failed to ensure load balancer: ${chosen.why}`;
    return { actions: [{ kind: 'event', type: 'Warning', reason: 'SyncLoadBalancerFailed', message }] };
  }
  const changes = [
    ...planFinalizer(service),
    ...planAddresses(service, [
      { ip: chosen.address, ipMode: 'VIP' },
      ...observed.forwardedFrom.map((ip) => ({ ip, ipMode: 'Proxy' })),
    ]),
  ];
  if (changes.length === 0) return { actions: [...hosts.reports, ...hosts.notes] };
  const missing = hosts.reports.filter((report) => report === UNAVAILABLE);
  return { actions: [...between('Ensuring', 'Ensured', [...missing, ...changes]), ...hosts.notes] };
}

const UNAVAILABLE: Action = {
  kind: 'event',
  type: 'Warning',
  reason: 'UnAvailableLoadBalancer',
  message: 'There are no available nodes for LoadBalancer',
};
const UPDATED: Action = {
  kind: 'event',
  type: 'Normal',
  reason: 'UpdatedLoadBalancer',
  message: 'Updated load balancer with new hosts',
};

/** Events about changed hosts. A new leader does not know the previous hosts, so it only reports if there are none. */
function planHosts({ hosts, hostsBefore }: ObservedService): { reports: readonly Action[]; notes: readonly Action[] } {
  if (equalJson(hosts, hostsBefore)) return { reports: [], notes: [] };
  const updated = hostsBefore === undefined ? [] : [UPDATED];
  return { reports: hosts.length === 0 ? [UNAVAILABLE] : updated, notes: [{ kind: 'noteHosts', hosts }] };
}

type Choice = { readonly kind: 'address'; readonly address: string } | { readonly kind: 'none'; readonly why: string };

/** The requested address, else the current one, else the first free one. */
function chooseAddress({ service, taken }: ObservedService, range: AddressRange): Choice {
  const wanted = service.spec?.loadBalancerIP ?? '';
  if (wanted !== '') {
    if (!isWithin(range, wanted))
      return { kind: 'none', why: `address ${wanted} is not in the range ${describe(range)}` };
    if (taken.has(wanted)) return { kind: 'none', why: `address ${wanted} is used by another Service` };
    return { kind: 'address', address: wanted };
  }
  const own = addressOf(service);
  if (isWithin(range, own) && !taken.has(own)) return { kind: 'address', address: own };
  for (let number = range.first; number <= range.last; number++) {
    const address = formatIpv4(number);
    if (!taken.has(address)) return { kind: 'address', address };
  }
  return { kind: 'none', why: `all addresses of the range ${describe(range)} are used` };
}

function describe({ first, last }: AddressRange): string {
  return `${formatIpv4(first)}-${formatIpv4(last)}`;
}

function planCleanup(service: Service): readonly Action[] {
  const { finalizers = [] } = service.metadata;
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

/** Writes the addresses to the status. The Service's own address is first. */
function planAddresses(service: Service, ingress: LoadBalancerIngress[]): readonly Action[] {
  if (equalJson(service.status?.loadBalancer?.ingress ?? [], ingress)) return [];
  const loadBalancer = ingress.length === 0 ? {} : { ingress };
  return [{ kind: 'updateStatus', service: { ...service, status: { ...service.status, loadBalancer } } }];
}
