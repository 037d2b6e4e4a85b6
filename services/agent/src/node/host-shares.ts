import { allocatableOf, capacityOf, type HostResources } from './node-resources.ts';
import type { ResourceAmounts } from '../spec/resources.ts';

/** A number of nodes set by an administrator, or the number of existing nodes. */
export type SharesSetting = number | 'all-nodes';

/** How many nodes share this host, and what this node's pods may use of it. The number changes when agents are added. */
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

  /** Records the number of Nodes on this engine, including this one. */
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
