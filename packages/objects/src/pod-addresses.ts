/** The first and the last of some IPv4 addresses, as numbers. Empty where `last` is smaller than `first`. */
export interface AddressRange {
  readonly first: number;
  readonly last: number;
}

/** The parts of the range of a host's pod network, in their order. No address is of two parts, and all are of one but the broadcast address. */
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

/** Parts of the range of a pod network; undefined for what is no IPv4 range from /8 to /28. */
export function podAddresses(cidr: string): PodAddresses | undefined {
  const match = /^(\d+\.\d+\.\d+\.\d+)\/(\d+)$/.exec(cidr);
  const address = parseIpv4(match?.[1] ?? '');
  const bits = Number(match?.[2] ?? -1);
  if (address === undefined || bits < 8 || bits > 28) return undefined;
  const size = 2 ** (32 - bits);
  const base = Math.floor(address / size) * size;
  // The smallest range has 16 addresses.
  const sixteenths = (from: number, to: number) => ({
    first: base + (size / 16) * from,
    last: base + (size / 16) * to - 1,
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

/** Whether a text is an address of a range. */
export function isWithin({ first, last }: AddressRange, address: string): boolean {
  const number = parseIpv4(address);
  return number !== undefined && number >= first && number <= last;
}

/** The number of an IPv4 address without leading zeros; undefined for any other text. */
export function parseIpv4(text: string): number | undefined {
  if (!/^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/.test(text)) return undefined;
  const octets = text.split('.').map(Number);
  return octets.some((octet) => octet > 255) ? undefined : octets.reduce((sum, octet) => sum * 256 + octet, 0);
}

/** The text of an IPv4 address; inverts `parseIpv4`. */
export function formatIpv4(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
}

function moved(address: string, from: AddressRange, to: AddressRange): string | undefined {
  const number = parseIpv4(address);
  if (number === undefined || number < from.first || number > from.last) return undefined;
  const target = to.first + number - from.first;
  return target > to.last ? undefined : formatIpv4(target);
}
