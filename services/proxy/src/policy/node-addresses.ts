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
 * The addresses from which the Nodes' agents reach pods, and the ranges in which the Nodes' pods can be, from the Node objects. The Node
 * address in a pod's status does not count: the pod's agent wrote it, and policies leave the traffic between a Node and its pods open.
 * The agent also reports its Node's own address. So this address counts only if it lies outside the addresses of pods.
 */
export class NodeAddresses {
  readonly #podCidr: string;
  readonly #reach: HostReach;
  readonly #addresses = new Map<string, string>();
  /** The ranges of the Nodes' pods, if they have one. A controller writes them, not the agent. */
  readonly #ranges = new Map<string, AddressRange>();

  constructor(podCidr: string, reach: HostReach) {
    this.#podCidr = podCidr;
    this.#reach = reach;
  }

  /** Takes a Node's state, or undefined if it is gone. Returns whether its address or its pod range has changed. */
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

  /**
   * Whether a pod of the Node can have the address. For a Node without a range, and on a host that reaches no other hosts, any address is
   * possible.
   */
  canHave(name: string, address: string): boolean {
    if (this.#reach === 'own-pods') return true;
    const range = this.#ranges.get(name);
    return range === undefined || isWithin(range, address);
  }

  /** The addresses from which a Node's agent reaches pods: the Node's own address and the address of the agent's container. */
  addressesOf(name: string): readonly string[] {
    const address = this.#addresses.get(name);
    if (address === undefined) return [];
    const container = containerAddressOf(this.#podCidr, address);
    return container === undefined ? [address] : [address, container];
  }

  /** Nodes of earlier versions have the addresses of their containers. */
  #isNodes(address: string): boolean {
    const parts = podAddresses(this.#podCidr);
    return parts !== undefined && (isWithin(parts.nodes, address) || isWithin(parts.containers, address));
  }
}
