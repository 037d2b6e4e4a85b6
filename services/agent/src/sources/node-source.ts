import type { ObjectReader } from '@gantry/client';
import { ignoreNotFound } from '@gantry/client';
import { type Node, NODES } from '@gantry/objects';

export interface NodeSourceOptions {
  readonly client: ObjectReader;
  readonly node: string;
  /** The expected Node, for pods that arrive before it is registered. */
  readonly initial: () => Node;
}

/** This agent's Node in the API. Its labels, taints and amounts decide which pods are bound to it. */
export class NodeSource {
  readonly #options: NodeSourceOptions;
  #known: Node | undefined;

  constructor(options: NodeSourceOptions) {
    this.#options = options;
  }

  /** The Node as last read. */
  known(): Node {
    return this.#known ?? this.#options.initial();
  }

  /** Records the result of a read or write of the Node. */
  observe(node: Node): void {
    this.#known = node;
  }

  /** Reads the Node. Returns the last known version if it was deleted. */
  async read(signal: AbortSignal): Promise<Node> {
    const { client, node } = this.#options;
    const found = await ignoreNotFound(client.get(NODES, { namespace: '', name: node }, signal));
    if (found !== undefined) this.observe(found);
    return this.known();
  }
}
