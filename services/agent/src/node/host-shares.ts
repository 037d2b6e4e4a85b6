import { allocatableOf, capacityOf, type HostResources } from './node-resources.ts';
import type { ResourceAmounts } from '../spec/resources.ts';

/** A number of nodes that an administrator has set, or as many as there are. */
export type SharesSetting = number | 'all-nodes';

/** How many nodes share this host, which changes when agents are added, and what this node's pods may use of it. */
export class HostShares {
  readonly host: HostResources;
  readonly reserved: ResourceAmounts;
  readonly #setting: SharesSetting;
  #nodes = 1;

  constructor(host: HostResources, reserved: ResourceAmounts, setting: SharesSetting) {
    this.host = host;
    this.reserved = reserved;
    this.#setting = setting;
  }

  get count(): number {
    return this.#setting === 'all-nodes' ? this.#nodes : this.#setting;
  }

  /** So many Nodes are on this engine, with this one. */
  observe(nodes: number): void {
    this.#nodes = Math.max(1, nodes);
  }

  capacity(): ResourceAmounts {
    return capacityOf(this.host, this.count);
  }

  allocatable(): ResourceAmounts {
    return allocatableOf(this.host, this.count, this.reserved);
  }
}
