import { type LoadBalancerIngress, parseIpv4, parseIpv4Range, type Service, type ServicePort } from '@gantry/objects';

/** A protocol under its name in the packet filter. */
export type Protocol = 'tcp' | 'udp' | 'sctp';
/** Which endpoints a client may use: all, or only those of its Node. */
export type TrafficPolicy = 'Cluster' | 'Local';

/** One port of a Service, as the rules need it. */
export interface RoutedPort {
  /** Unique among all ports of all Services: `<namespace>/<name>/<protocol>/<port's name>`. */
  readonly id: string;
  readonly name: string;
  readonly protocol: Protocol;
  readonly clusterAddress: string;
  readonly port: number;
  /** 0 if there is none. */
  readonly nodePort: number;
  readonly externalAddresses: readonly string[];
  readonly loadBalancerAddresses: readonly string[];
  /** The allowed clients of `loadBalancerAddresses`. An empty list allows all clients. */
  readonly sourceRanges: readonly string[];
  /** How long a client keeps its endpoint in seconds; 0 without session affinity. */
  readonly affinitySeconds: number;
  readonly internalPolicy: TrafficPolicy;
  readonly externalPolicy: TrafficPolicy;
}

const PROTOCOLS: ReadonlyMap<string, Protocol> = new Map([
  ['TCP', 'tcp'],
  ['UDP', 'udp'],
  ['SCTP', 'sctp'],
]);
/** Kubernetes' default of `sessionAffinityConfig.clientIP.timeoutSeconds`. */
const AFFINITY_SECONDS = 10_800;

/**
 * Returns the ports that packets are sent to. Headless Services, ExternalName Services and Services without an IPv4 ClusterIP have none.
 */
export function routedPorts(service: Service): readonly RoutedPort[] {
  const { spec } = service;
  if (spec === undefined || spec.type === 'ExternalName') return [];
  const clusterAddress = [spec.clusterIP ?? '', ...(spec.clusterIPs ?? [])].find(isIpv4);
  if (clusterAddress === undefined) return [];
  return (spec.ports ?? []).flatMap((port) => routedPort(service, clusterAddress, port) ?? []);
}

function routedPort(service: Service, clusterAddress: string, port: ServicePort): RoutedPort | undefined {
  const { metadata, spec = {}, status } = service;
  const protocol = protocolOf(port.protocol);
  if (protocol === undefined) return undefined;
  const name = port.name ?? '';
  const isExternal = spec.type === 'NodePort' || spec.type === 'LoadBalancer';
  return {
    id: `${metadata.namespace ?? ''}/${metadata.name ?? ''}/${protocol}/${name}`,
    name,
    protocol,
    clusterAddress,
    port: port.port,
    nodePort: port.nodePort ?? 0,
    externalAddresses: (spec.externalIPs ?? []).filter(isIpv4),
    loadBalancerAddresses: (status?.loadBalancer?.ingress ?? []).flatMap((ingress) => virtualAddress(ingress)),
    sourceRanges: sourceRanges(spec.loadBalancerSourceRanges ?? []),
    affinitySeconds:
      spec.sessionAffinity === 'ClientIP'
        ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? AFFINITY_SECONDS)
        : 0,
    internalPolicy: spec.internalTrafficPolicy === 'Local' ? 'Local' : 'Cluster',
    externalPolicy:
      hasExternalPolicy(isExternal, spec.externalIPs) && spec.externalTrafficPolicy === 'Local' ? 'Local' : 'Cluster',
  };
}

/** As in Kubernetes, the policy applies to NodePort and LoadBalancer Services, and to ClusterIP Services with external addresses. */
function hasExternalPolicy(isExternal: boolean, externalIPs: readonly string[] = []): boolean {
  return isExternal || externalIPs.length > 0;
}

/** Load balancers in the mode Proxy deliver packets to the node itself. */
function virtualAddress({ ip = '', ipMode = 'VIP' }: LoadBalancerIngress): readonly string[] {
  return ipMode === 'VIP' && isIpv4(ip) ? [ip] : [];
}

/** A range with the prefix length 0 allows all clients, like an empty list. */
function sourceRanges(ranges: readonly string[]): readonly string[] {
  const found = ranges.map((range) => range.trim()).filter((range) => parseIpv4Range(range) !== undefined);
  return found.some((range) => range.endsWith('/0')) ? [] : found;
}

function isIpv4(text: string): boolean {
  return parseIpv4(text) !== undefined;
}

/** Returns the protocol from its name in the API (TCP if missing), or undefined if it is unknown. */
export function protocolOf(text: string | undefined): Protocol | undefined {
  return PROTOCOLS.get(text ?? 'TCP');
}
