import {
  type AddressRange,
  containerAddressOf,
  isWithin,
  type Node,
  parseIpv4Range,
  podAddresses,
} from '@gantry/objects';
import type { HostReach } from '../rules/topology.ts';

/**
 * Where Nodes' agents come from, and where their pods can be, by the Nodes' objects. What a pod's status says of its Node's address does not count: its agent has
 * written it, and policies leave the way between a Node and its pods open. A Node's own address is reported by its agent, too: it counts
 * only where pods have none.
 */
export class NodeAddresses {
  readonly #podCidr: string;
  readonly #reach: HostReach;
  readonly #addresses = new Map<string, string>();
  /** The ranges of Nodes' pods, where they have one: a controller has written it, not the agent. */
  readonly #ranges = new Map<string, AddressRange>();

  constructor(podCidr: string, reach: HostReach) {
    this.#podCidr = podCidr;
    this.#reach = reach;
  }

  /** Takes a Node's state, undefined when it is gone. Returns whether its address or the range of its pods has changed. */
  take(name: string, node: Node | undefined): boolean {
    const isRangeChanged = this.#takeRange(name, node?.spec?.podCIDR ?? '');
    const before = this.#addresses.get(name);
    const reported = node?.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? '';
    if (this.#isNodes(reported)) this.#addresses.set(name, reported);
    else this.#addresses.delete(name);
    return isRangeChanged || before !== this.#addresses.get(name);
  }

  #takeRange(name: string, cidr: string): boolean {
    const before = this.#ranges.get(name);
    const range = parseIpv4Range(cidr);
    if (range === undefined) this.#ranges.delete(name);
    else this.#ranges.set(name, range);
    return before?.first !== range?.first || before?.last !== range?.last;
  }

  /** Whether a pod of the Node can have the address. Of a Node without a range it can be any, and on a host that reaches no others. */
  canHave(name: string, address: string): boolean {
    if (this.#reach === 'own-pods') return true;
    const range = this.#ranges.get(name);
    return range === undefined || isWithin(range, address);
  }

  /** The addresses from which a Node's agent reaches pods: the Node's own, and that of the agent's container. */
  addressesOf(name: string): readonly string[] {
    const address = this.#addresses.get(name);
    if (address === undefined) return [];
    const container = containerAddressOf(this.#podCidr, address);
    return container === undefined ? [address] : [address, container];
  }

  /** Nodes of earlier versions have their containers' addresses. */
  #isNodes(address: string): boolean {
    const parts = podAddresses(this.#podCidr);
    return parts !== undefined && (isWithin(parts.nodes, address) || isWithin(parts.containers, address));
  }
}
