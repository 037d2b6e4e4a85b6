import type { FilterPlugin } from './plugin.ts';
import type { PodInfo } from './pod-info.ts';
import { type NodeInfo, withPod } from './snapshot.ts';

/** Why a filter excluded a node. */
export interface Refusal {
  readonly node: NodeInfo;
  readonly plugin: string;
  readonly reasons: readonly string[];
  /** Whether the pod may fit when other pods are gone. */
  readonly curable: 'by-room' | 'never';
}

/**
 * Why a node does not fit a pod; undefined when it does. It must fit beside the pods that are nominated to the node, and without them
 * as well: they may never come.
 */
export function refusalOf(
  pod: PodInfo,
  node: NodeInfo,
  nominated: readonly PodInfo[],
  filters: readonly FilterPlugin[],
): Refusal | undefined {
  const beside = nominated.length === 0 ? undefined : refusalAsIs(pod, nominated.reduce(withPod, node), filters);
  return beside === undefined ? refusalAsIs(pod, node, filters) : { ...beside, node };
}

function refusalAsIs(pod: PodInfo, node: NodeInfo, filters: readonly FilterPlugin[]): Refusal | undefined {
  for (const { name, filter, curedByRoom } of filters) {
    const reasons = filter(pod, node);
    if (reasons.length === 0) continue;
    return { node, plugin: name, reasons, curable: curedByRoom?.(pod, node) === true ? 'by-room' : 'never' };
  }
  return undefined;
}
