import { containerAddressOf, isWithin, type Node, podAddresses } from '@gantry/objects';

/**
 * Where Nodes' agents come from, by the Nodes' objects. What a pod's status says of its Node's address does not count: its agent has
 * written it, and policies leave the way between a Node and its pods open. A Node's own address is reported by its agent, too: it counts
 * only where pods have none.
 */
export class NodeAddresses {
  readonly #podCidr: string;
  readonly #addresses = new Map<string, string>();

  constructor(podCidr: string) {
    this.#podCidr = podCidr;
  }

  /** Takes a Node's state, undefined when it is gone. Returns whether its address has changed. */
  take(name: string, node: Node | undefined): boolean {
    const before = this.#addresses.get(name);
    const reported = node?.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? '';
    if (this.#isNodes(reported)) this.#addresses.set(name, reported);
    else this.#addresses.delete(name);
    return before !== this.#addresses.get(name);
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
