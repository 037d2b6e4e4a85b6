import {
  type AddressRange,
  containerAddressOf,
  hasEnded,
  isWithin,
  type Node,
  parseIpv4Range,
  type Pod,
  ZONE_LABEL,
} from '@gantry/objects';
import type { Element, Fragment } from './fragment.ts';
import { type HostReach, type LocalNode, nodePart } from './topology.ts';

/**
 * Returns the Nodes of this host by name: those whose InternalIP is among the addresses of its pods. A Node's agent reports the address.
 * If there are other hosts, a Node of another host has another range, so it gets no address of this host.
 */
export function nodesOfHost(
  nodes: readonly Node[],
  podRange: AddressRange,
  reach: HostReach,
): ReadonlyMap<string, LocalNode> {
  const found = nodes.flatMap(({ metadata, spec, status }): readonly LocalNode[] => {
    const address = status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? '';
    const range = reach === 'own-pods' ? '' : spec?.podCIDR;
    if (!isWithin(podRange, address) || isElsewhere(range ?? '', podRange)) return [];
    return [{ name: metadata.name ?? '', address, zone: metadata.labels?.[ZONE_LABEL] ?? '' }];
  });
  return new Map(found.toSorted((one, other) => (one.name < other.name ? -1 : 1)).map((node) => [node.name, node]));
}

/** Whether a range belongs to another host. Nodes have no range if no controller assigns one. */
function isElsewhere(podCidr: string, { first, last }: AddressRange): boolean {
  if (podCidr === '') return false;
  const range = parseIpv4Range(podCidr);
  return range?.first !== first || range.last !== last;
}

/**
 * Plans the addresses at which NodePorts answer in addition to the host's own addresses, and the agents that answer at their port 10250.
 */
export function planNodeAddresses(nodes: ReadonlyMap<string, LocalNode>, podCidr: string): Fragment {
  const elements = [...nodes.values()].flatMap(({ address }): readonly Element[] => {
    const agent = containerAddressOf(podCidr, address);
    const known: Element = { container: 'node-addresses', key: address, value: '' };
    return agent === undefined ? [known] : [known, { container: 'agents', key: address, value: agent }];
  });
  return { elements, chains: new Map(), sets: new Map() };
}

/** Plans a Node's set of pod addresses. Pods that have ended are not in it, because their addresses are given to other pods. */
export function planPodsOf(node: LocalNode, pods: readonly Pod[], podRange: AddressRange): Fragment {
  const addresses = pods
    .filter((pod) => pod.spec?.hostNetwork !== true && !hasEnded(pod))
    .map(({ status }) => status?.podIP ?? '')
    .filter((address) => isWithin(podRange, address));
  const container = `pods-of/${nodePart(node)}` as const;
  return {
    elements: [...new Set(addresses)].map((key): Element => ({ container, key, value: '' })),
    chains: new Map(),
    sets: new Map([[container, 'type ipv4_addr;']]),
  };
}
