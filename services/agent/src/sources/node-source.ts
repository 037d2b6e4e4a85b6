import type { ObjectReader } from '@gantry/client';
import { ignoreNotFound } from '@gantry/client';
import { type Node, NODES } from '@gantry/objects';

export interface NodeSourceOptions {
  readonly client: ObjectReader;
  readonly node: string;
  /** What the Node will be: for pods that come before it is registered. */
  readonly initial: () => Node;
}

/** This agent's Node as the API server has it: the labels, taints and amounts by which pods are bound to it. */
export class NodeSource {
  readonly #options: NodeSourceOptions;
  #known: Node | undefined;

  constructor(options: NodeSourceOptions) {
    this.#options = options;
  }

  /** As it was read last. */
  known(): Node {
    return this.#known ?? this.#options.initial();
  }

  /** Takes what a read or a write of the Node returned. */
  observe(node: Node): void {
    this.#known = node;
  }

  /** As it is now; as it was last where it has been deleted. */
  async read(signal: AbortSignal): Promise<Node> {
    const { client, node } = this.#options;
    const found = await ignoreNotFound(client.get(NODES, { namespace: '', name: node }, signal));
    if (found !== undefined) this.observe(found);
    return this.known();
  }
}
