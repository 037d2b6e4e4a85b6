import { type AddressRange, formatIpv4, isWithin, parseIpv4, parseIpv4Range } from './ipv4.ts';

/** The parts of a host's pod network range, in order. They do not overlap, and cover the whole range except for the broadcast address. */
export interface PodAddresses {
  /** For containers of the control plane and agents; the engine assigns them. The first one is the engine's gateway. */
  readonly containers: AddressRange;
  /** For pods that agents connect to the network. */
  readonly pods: AddressRange;
  /** For pods that the engine connects on an agent's behalf, because the engine does not know the other pods' addresses. */
  readonly enginePods: AddressRange;
  /** For load balancers: addresses of the host on the network's bridge. */
  readonly loadBalancers: AddressRange;
  /** For Nodes: also addresses of the host. As many as for containers, except for the broadcast address. */
  readonly nodes: AddressRange;
}

/** Sizes of ranges with prefix 28 and prefix 8. Each part consists of whole sixteenths. */
const MIN_SIZE = 2 ** 4;
const MAX_SIZE = 2 ** 24;

/** The parts of a pod network's range; undefined unless it is an IPv4 range from /8 to /28. */
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

/** The host's own address on its pod bridge: the first one of its range. Undefined if the range has no parts. */
export function gatewayOf(cidr: string): string | undefined {
  const parts = podAddresses(cidr);
  return parts === undefined ? undefined : formatIpv4(parts.containers.first + 1);
}

/**
 * The InternalIP of the Node whose agent's container has this address: it has the same position in the part for Nodes, so it is unique.
 * Undefined for an address outside the containers' part.
 */
export function nodeAddressOf(cidr: string, containerAddress: string): string | undefined {
  const parts = podAddresses(cidr);
  return parts === undefined ? undefined : moved(containerAddress, parts.containers, parts.nodes);
}

/** The address of the container of a Node's agent, by the Node's InternalIP. Inverse of `nodeAddressOf`. */
export function containerAddressOf(cidr: string, nodeAddress: string): string | undefined {
  const parts = podAddresses(cidr);
  return parts === undefined ? undefined : moved(nodeAddress, parts.nodes, parts.containers);
}

/**
 * Why a Node's pods cannot use ports on a host address; undefined if they can. '' and 0.0.0.0 mean all addresses. The kernel checks for
 * each connection that the address is the host's.
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
