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
 * The Nodes of this host, by name: those whose InternalIP is among the addresses of its pods. The address is what a Node's agent says: one of
 * another host, which has another range, gets no address of this one where there are other hosts.
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

/** Whether a range is of another host. Nodes have none where no controller assigns them. */
function isElsewhere(podCidr: string, { first, last }: AddressRange): boolean {
  if (podCidr === '') return false;
  const range = parseIpv4Range(podCidr);
  return range?.first !== first || range.last !== last;
}

/** The addresses under which NodePorts answer, in addition to the host's own, and the agents that answer at port 10250 of them. */
export function planNodeAddresses(nodes: ReadonlyMap<string, LocalNode>, podCidr: string): Fragment {
  const elements = [...nodes.values()].flatMap(({ address }): readonly Element[] => {
    const agent = containerAddressOf(podCidr, address);
    const known: Element = { container: 'node-addresses', key: address, value: '' };
    return agent === undefined ? [known] : [known, { container: 'agents', key: address, value: agent }];
  });
  return { elements, chains: new Map(), sets: new Map() };
}

/** A Node's set of pods' addresses. Pods that have ended have none any more: their addresses are given to others. */
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
