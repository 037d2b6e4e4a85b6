import { type AddressRange, formatIpv4, isWithin, parseIpv4, parseIpv4Range } from './ipv4.ts';

/**
 * The parts of the range of a host's pod network, in their order. No address is of two parts, and all are of one but the broadcast address.
 */
export interface PodAddresses {
  /** For containers of the control plane and agents: the engine chooses among them. Its own gateway is the first. */
  readonly containers: AddressRange;
  /** For pods that agents connect. */
  readonly pods: AddressRange;
  /** For pods that the engine connects on an agent's behalf: it does not know the addresses of the others. */
  readonly enginePods: AddressRange;
  /** For load balancers: addresses that the host has on the network's bridge. */
  readonly loadBalancers: AddressRange;
  /** For Nodes: addresses that the host has, too. As many as there are containers, but for the broadcast address. */
  readonly nodes: AddressRange;
}

/** Of a range with the prefix 28, and with 8. Each part has whole sixteenths. */
const MIN_SIZE = 2 ** 4;
const MAX_SIZE = 2 ** 24;

/** Parts of the range of a pod network; undefined for what is no IPv4 range from /8 to /28. */
export function podAddresses(cidr: string): PodAddresses | undefined {
  const range = parseIpv4Range(cidr);
  const size = range === undefined ? 0 : range.last - range.first + 1;
  if (range === undefined || size < MIN_SIZE || size > MAX_SIZE) return undefined;
  const sixteenths = (from: number, to: number) => ({
    first: range.first + (size / 16) * from,
    last: range.first + (size / 16) * to - 1,
  });
  const nodes = sixteenths(12, 16);
  return {
    containers: sixteenths(0, 4),
    pods: sixteenths(4, 9),
    enginePods: sixteenths(9, 10),
    loadBalancers: sixteenths(10, 12),
    nodes: { ...nodes, last: nodes.last - 1 },
  };
}

/**
 * The InternalIP of the Node whose agent's container has an address, and no other Node's: it has the same place among the addresses of
 * Nodes. Undefined for an address outside of the engine's part.
 */
export function nodeAddressOf(cidr: string, containerAddress: string): string | undefined {
  const parts = podAddresses(cidr);
  return parts === undefined ? undefined : moved(containerAddress, parts.containers, parts.nodes);
}

/** The address of the container that is the agent of a Node, by the Node's InternalIP: the inverse of `nodeAddressOf`. */
export function containerAddressOf(cidr: string, nodeAddress: string): string | undefined {
  const parts = podAddresses(cidr);
  return parts === undefined ? undefined : moved(nodeAddress, parts.nodes, parts.containers);
}

/**
 * Why the pods of a Node have no ports of an address of the host; undefined where they may. '' and 0.0.0.0 are all addresses. That an
 * address is the host's at all is checked by its kernel, for each connection.
 */
export function hostIpRefusal(
  hostIp: string,
  { podCidr, nodeAddress }: { readonly podCidr: string; readonly nodeAddress: string },
): string | undefined {
  if (['', '0.0.0.0', nodeAddress].includes(hostIp)) return undefined;
  if (parseIpv4(hostIp) === undefined) return 'only ports of IPv4 addresses are forwarded';
  const parts = podAddresses(podCidr);
  if (parts === undefined) return undefined;
  if (isWithin(parts.nodes, hostIp)) return 'it is an address of another node';
  return isWithin(parts.loadBalancers, hostIp) ? 'it is an address of load balancers' : undefined;
}

function moved(address: string, from: AddressRange, to: AddressRange): string | undefined {
  const number = parseIpv4(address);
  if (number === undefined || number < from.first || number > from.last) return undefined;
  const target = to.first + number - from.first;
  return target > to.last ? undefined : formatIpv4(target);
}
