import { type Container, hasEnded, hostIpRefusal, isWithin, lastingContainers, type Pod } from '@gantry/objects';
import { type Element, EMPTY, type Fragment } from './fragment.ts';
import { type Protocol, protocolOf } from './service-port.ts';
import type { FlowTargets } from './stale-flows.ts';
import type { LocalNode, Topology } from './topology.ts';

type Surroundings = Pick<Topology, 'podCidr' | 'podRange'>;

/** One port of a Node that leads to a pod. */
interface ForwardedPort {
  /** An address of the host, or empty for all of its addresses. */
  readonly hostIp: string;
  readonly hostPort: number;
  readonly protocol: Protocol;
  readonly podAddress: string;
  readonly podPort: number;
}

/**
 * Plans the rules for the host ports of one pod. A port without `hostIP` applies to its Node's address and to all other addresses of the
 * host. The Nodes of a host share these other addresses. The rule book gives a contested port to the owner that sorts first.
 */
export function planHostPorts(pod: Pod, node: LocalNode, surroundings: Surroundings): Fragment {
  const ports = forwardedPortsOf(pod, node, surroundings);
  const [first] = ports;
  if (first === undefined) return EMPTY;
  const elements = ports.flatMap(({ hostIp, hostPort, protocol, podAddress, podPort }): readonly Element[] => {
    const value = `${podAddress} . ${podPort}`;
    const at = (address: string): Element => ({
      container: 'host-ports',
      key: `${address} . ${protocol} . ${hostPort}`,
      value,
    });
    if (hostIp !== '') return [at(hostIp)];
    return [at(node.address), { container: 'any-host-ports', key: `${protocol} . ${hostPort}`, value }];
  });
  const own: Element = { container: 'own-addresses', key: `${first.podAddress} . ${first.podAddress}`, value: '' };
  return { elements: [...elements, own], chains: new Map(), sets: new Map() };
}

/** Returns the UDP addresses of a pod's host ports. The pod is the only one that answers there. */
export function hostPortTargets(pod: Pod, node: LocalNode, surroundings: Surroundings): FlowTargets {
  const targets = new Map<string, ReadonlySet<string>>();
  for (const { hostIp, hostPort, protocol, podAddress } of forwardedPortsOf(pod, node, surroundings)) {
    if (protocol !== 'udp') continue;
    const addresses = hostIp === '' ? [node.address, ''] : [hostIp];
    for (const address of addresses) targets.set(`udp ${address}:${hostPort}`, new Set([podAddress]));
  }
  return targets;
}

/**
 * Owners of host ports sort by the age of their pods. If two pods of different Nodes want the same port of the host, the older pod keeps
 * it.
 */
export function hostPortOwner({ metadata }: Pod): string {
  return `host-ports/${metadata.creationTimestamp ?? ''}/${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

function forwardedPortsOf(pod: Pod, node: LocalNode, surroundings: Surroundings): readonly ForwardedPort[] {
  const { spec, status } = pod;
  const podAddress = status?.podIP ?? '';
  // A pod in the host's network has its ports there already. A pod that has ended has given its address back.
  if (spec === undefined || spec.hostNetwork === true || hasEnded(pod)) return [];
  if (!isWithin(surroundings.podRange, podAddress)) return [];
  return lastingContainers(pod).flatMap((container) =>
    portsOf(container, podAddress).filter(({ hostIp }) => mayUse(hostIp, node, surroundings)),
  );
}

function portsOf({ ports }: Container, podAddress: string): readonly ForwardedPort[] {
  return (ports ?? []).flatMap(({ hostPort, hostIP, containerPort, protocol: name }): readonly ForwardedPort[] => {
    const protocol = protocolOf(name);
    if (hostPort === undefined || hostPort === 0 || protocol === undefined) return [];
    const hostIp = hostIP === undefined || hostIP === '0.0.0.0' ? '' : hostIP;
    return [{ hostIp, hostPort, protocol, podAddress, podPort: containerPort }];
  });
}

/** If this is false, the pod's agent has refused the pod, or the agent is not trustworthy. */
function mayUse(hostIp: string, node: LocalNode, { podCidr }: Surroundings): boolean {
  return hostIpRefusal(hostIp, { podCidr, nodeAddress: node.address }) === undefined;
}
