import { createHash } from 'node:crypto';
import { type AddressRange, formatIpv4, isWithin, podAddresses, type Service } from '@gantry/objects';
import type { ForwardedPort, ForwarderState } from '../runtime/forwarders.ts';

/** Each forwarder is a container of the host, and takes ports of its loopback. */
export const MAX_FORWARDERS = 100;
/** Of one namespace. */
export const MAX_NAMESPACE_FORWARDERS = 20;
/** Each port of one is a process of the engine. */
export const MAX_FORWARDED_PORTS = 20;

/** A forwarder that a Service is to have. */
export interface WantedForwarder {
  readonly service: Service;
  readonly uid: string;
  readonly hash: string;
  readonly target: string;
  /** At the Service's own numbers. */
  readonly ports: readonly ForwardedPort[];
  /** At its node ports, for where its own numbers are in use on the host. Empty where a port has none. */
  readonly nodePorts: readonly ForwardedPort[];
}

/** What Services want, and those that are beyond the bounds. */
export interface WantedForwarders {
  readonly wanted: readonly WantedForwarder[];
  readonly omitted: readonly Service[];
}

export type ForwarderAction =
  | { readonly kind: 'remove'; readonly id: string }
  | { readonly kind: 'start'; readonly forwarder: WantedForwarder };

/** Which forwarders Services want, the oldest Services first. `image` is what their containers are made of: another one is another container. */
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

/** The addresses of a network's pods, which do not use forwarders, as nft writes them. */
export function podsOf(podCidr: string): string {
  const { pods, enginePods } = podAddresses(podCidr) ?? {};
  return `${formatIpv4(pods?.first ?? 0)}-${formatIpv4(enginePods?.last ?? 0)}`;
}

/** Removals come first: they free ports of the host. Services in `refused` have been tried lately. */
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

/** The address that the host has for a Service's load balancer. */
function targetOf({ metadata, spec, status }: Service, range: AddressRange): string | undefined {
  if (metadata.deletionTimestamp !== undefined || spec?.type !== 'LoadBalancer') return undefined;
  const ingress = status?.loadBalancer?.ingress ?? [];
  return ingress.find(({ ip = '', ipMode }) => ipMode === 'VIP' && isWithin(range, ip))?.ip;
}

/** The engine publishes TCP and UDP of all kinds of hosts, and no SCTP. */
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
