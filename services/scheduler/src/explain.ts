import type { Refusal } from './framework/plugin.ts';

/** Why nodes were not looked at: the pod itself shows that they do not fit. Preemption does not help on them. */
export interface Exclusion {
  /** The names of the filters that excluded these nodes. */
  readonly plugins: readonly string[];
  /** Why all nodes are excluded. Absent when some nodes were looked at. */
  readonly conflict?: string | undefined;
}

const NOT_HELPFUL = 'Preemption is not helpful for scheduling';

/**
 * Kubernetes' message for a pod that fits on no node: the number of nodes for each reason, sorted, followed by the outcome of preemption.
 * That last part is empty when preemption makes room.
 */
export function explainRefusals(
  nodeCount: number,
  refusals: readonly Refusal[],
  exclusion: Exclusion | undefined,
  preemption: string,
): string {
  if (nodeCount === 0) return 'no nodes available to schedule pods';
  const reasons = exclusion?.conflict ?? explainNodes(nodeCount, refusals, exclusion);
  const sentence = `${noneOf(nodeCount)} ${reasons}.`;
  return preemption === '' ? sentence : `${sentence} preemption: ${preemption}`;
}

/**
 * Explains why preemption makes no room: how many nodes have which reason. `looked` is the number of nodes where it was tried. On the
 * others it would not help.
 */
export function explainPreemption(nodeCount: number, looked: number, reasons: ReadonlyMap<string, number>): string {
  const counts = new Map(reasons);
  if (nodeCount > looked) counts.set(NOT_HELPFUL, nodeCount - looked);
  return `${noneOf(nodeCount)} ${listReasons(counts)}.`;
}

function explainNodes(nodeCount: number, refusals: readonly Refusal[], exclusion: Exclusion | undefined): string {
  const counts = countReasons(refusals);
  const excluded = nodeCount - refusals.length;
  if (exclusion !== undefined && excluded > 0)
    counts.set(`node(s) didn't satisfy plugin(s) [${exclusion.plugins.join(' ')}]`, excluded);
  return listReasons(counts);
}

function noneOf(nodeCount: number): string {
  return `0/${nodeCount} nodes are available:`;
}

function countReasons(refusals: readonly Refusal[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { reasons } of refusals) for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return counts;
}

function listReasons(counts: ReadonlyMap<string, number>): string {
  return [...counts]
    .map(([reason, count]) => `${count} ${reason}`)
    .sort()
    .join(', ');
}
