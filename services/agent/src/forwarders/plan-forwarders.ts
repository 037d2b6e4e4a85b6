import { createHash } from 'node:crypto';
import { type AddressRange, formatIpv4, isWithin, podAddresses, type Service } from '@gantry/objects';
import type { ForwardedPort, ForwarderState } from '../runtime/forwarders.ts';

/** The limit per host. Each forwarder is a container and uses ports of the host's loopback. */
export const MAX_FORWARDERS = 100;
/** The limit per namespace. */
export const MAX_NAMESPACE_FORWARDERS = 20;
/** The limit per forwarder. Each port needs a process of the engine. */
export const MAX_FORWARDED_PORTS = 20;

/** A forwarder that a Service needs. */
export interface WantedForwarder {
  readonly service: Service;
  readonly uid: string;
  readonly hash: string;
  readonly target: string;
  /** With the Service's own port numbers. */
  readonly ports: readonly ForwardedPort[];
  /** With its node ports, used when its own numbers are in use on the host. Empty when a port has no node port. */
  readonly nodePorts: readonly ForwardedPort[];
}

/** The forwarders that Services need, and the Services that exceed the limits. */
export interface WantedForwarders {
  readonly wanted: readonly WantedForwarder[];
  readonly omitted: readonly Service[];
}

export type ForwarderAction =
  | { readonly kind: 'remove'; readonly id: string }
  | { readonly kind: 'start'; readonly forwarder: WantedForwarder };

/**
 * The forwarders that Services need, oldest Services first. `image` is the image of their containers; another image needs new containers.
 */
export function wantedForwarders(services: readonly Service[], podCidr: string, image: string): WantedForwarders {
  const range = podAddresses(podCidr)?.loadBalancers;
  const wanted: WantedForwarder[] = [];
  const omitted: Service[] = [];
  const counts = new Map<string, number>();
  for (const service of services.toSorted(byAge)) {
    const target = range === undefined ? undefined : targetOf(service, range);
    if (target === undefined) continue;
    const { namespace = '', uid = '' } = service.metadata;
    const [ports, nodePorts] = [forwardedPorts(service, 'port'), forwardedPorts(service, 'nodePort')];
    if (ports.length === 0) continue;
    const count = counts.get(namespace) ?? 0;
    const hasRoom = wanted.length < MAX_FORWARDERS && count < MAX_NAMESPACE_FORWARDERS;
    if (!hasRoom || ports.length > MAX_FORWARDED_PORTS) {
      omitted.push(service);
      continue;
    }
    counts.set(namespace, count + 1);
    const hash = digest(JSON.stringify([image, target, ports, nodePorts]));
    wanted.push({ service, uid, hash, target, ports, nodePorts });
  }
  return { wanted, omitted };
}

/** The addresses of a network's pods as an nft range. Pods must not use forwarders. */
export function podsOf(podCidr: string): string {
  const { pods, enginePods } = podAddresses(podCidr) ?? {};
  return `${formatIpv4(pods?.first ?? 0)}-${formatIpv4(enginePods?.last ?? 0)}`;
}

/** Removals come first, since they free ports of the host. Forwarders in `refused` have failed recently and are not started. */
export function planForwarders(
  { wanted }: Pick<WantedForwarders, 'wanted'>,
  present: readonly ForwarderState[],
  refused: ReadonlySet<string>,
): readonly ForwarderAction[] {
  const hashes = new Map(wanted.map(({ uid, hash }) => [uid, hash]));
  const kept = new Set<string>();
  const removals: ForwarderAction[] = [];
  for (const { id, uid, hash, state } of present) {
    if (state === 'running' && hashes.get(uid) === hash && !kept.has(uid)) kept.add(uid);
    else removals.push({ kind: 'remove', id });
  }
  const starts = wanted
    .filter(({ uid, hash }) => !kept.has(uid) && !refused.has(`${uid} ${hash}`))
    .map((forwarder): ForwarderAction => ({ kind: 'start', forwarder }));
  return [...removals, ...starts];
}

/** The host's address of a Service's load balancer. */
function targetOf({ metadata, spec, status }: Service, range: AddressRange): string | undefined {
  if (metadata.deletionTimestamp !== undefined || spec?.type !== 'LoadBalancer') return undefined;
  const ingress = status?.loadBalancer?.ingress ?? [];
  return ingress.find(({ ip = '', ipMode }) => ipMode === 'VIP' && isWithin(range, ip))?.ip;
}

/** The engine publishes TCP and UDP ports on all kinds of hosts, but not SCTP. */
function forwardedPorts({ spec }: Service, host: 'port' | 'nodePort'): readonly ForwardedPort[] {
  const ports = (spec?.ports ?? []).flatMap((one): readonly ForwardedPort[] => {
    const protocol = one.protocol === undefined || one.protocol === 'TCP' ? 'tcp' : one.protocol === 'UDP' ? 'udp' : '';
    return protocol === '' ? [] : [{ protocol, hostPort: one[host] ?? 0, port: one.port }];
  });
  return ports.every(({ hostPort }) => hostPort > 0) ? ports : [];
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function byAge({ metadata: one }: Service, { metadata: other }: Service): number {
  const keys = [one, other].map(
    ({ creationTimestamp = '', namespace = '', name = '' }) => `${creationTimestamp} ${namespace}/${name}`,
  ) as [string, string];
  return keys[0] < keys[1] ? -1 : keys[0] > keys[1] ? 1 : 0;
}
