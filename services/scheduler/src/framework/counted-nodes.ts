import type { NodePods, PodDifference, PodInfo } from './pod-info.ts';
import type { NodeInfo } from './snapshot.ts';

/** The nodes of a cycle with the pods that are counted on them. Where pods are assigned, `nodes` change as `replace` is told. */
export class CountedNodes {
  readonly nodes: readonly NodeInfo[];
  /** The nodes by name, once that is asked for. */
  #byName: Map<string, NodeInfo> | undefined;

  constructor(nodes: readonly NodeInfo[]) {
    this.nodes = nodes;
  }

  /** One of the nodes has another pod from now on, which is counted. */
  replace(node: NodeInfo): void {
    this.#byName?.set(node.name, node);
  }

  /** The pods that a node has in thought and that are not counted on it, and the other way round; undefined when it is as it is counted. */
  differenceOn(node: NodePods, among: 'pods' | 'withTerms'): PodDifference | undefined {
    this.#byName ??= new Map(this.nodes.map((one) => [one.name, one]));
    const counted = this.#byName.get(node.name);
    if (counted === undefined || counted[among] === node[among]) return undefined;
    const missing = (pods: ReadonlyMap<string, PodInfo>, from: ReadonlyMap<string, PodInfo>) =>
      [...pods.values()].filter((pod) => from.get(pod.key) !== pod);
    return { added: missing(node[among], counted[among]), removed: missing(counted[among], node[among]) };
  }
}
