/** Why a filter excluded a node. */
export interface Refusal {
  readonly plugin: string;
  readonly reasons: readonly string[];
  /** Why preemption does not help on this node. */
  readonly preemption: 'no-victims' | 'not-helpful';
}

/** The nodes that were not looked at, since the pod alone tells that they do not fit. Preemption does not help there. */
export interface Exclusion {
  /** The filters that excluded them. */
  readonly plugins: readonly string[];
  /** Why all nodes are excluded; absent when some nodes were looked at. */
  readonly conflict?: string | undefined;
}

/**
 * Kubernetes' message for an unschedulable pod: the number of nodes per reason, sorted. This scheduler does not preempt, and the
 * message contains Kubernetes' text for that.
 */
export function explainRefusals(nodeCount: number, refusals: readonly Refusal[], exclusion?: Exclusion): string {
  if (nodeCount === 0) return 'no nodes available to schedule pods';
  const lackingRoom = refusals.filter(({ preemption }) => preemption === 'no-victims').length;
  const reasons = exclusion?.conflict ?? explainNodes(nodeCount, refusals, exclusion);
  const none = `0/${nodeCount} nodes are available:`;
  return `${none} ${reasons}. preemption: ${none} ${explainPreemption(lackingRoom, nodeCount - lackingRoom)}.`;
}

function explainNodes(nodeCount: number, refusals: readonly Refusal[], exclusion: Exclusion | undefined): string {
  const counts = new Map<string, number>();
  for (const reason of refusals.flatMap(({ reasons }) => reasons)) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const excluded = nodeCount - refusals.length;
  if (exclusion !== undefined && excluded > 0)
    counts.set(`node(s) didn't satisfy plugin(s) [${exclusion.plugins.join(' ')}]`, excluded);
  const texts = [...counts].map(([reason, count]) => `${count} ${reason}`);
  return texts.sort().join(', ');
}

function explainPreemption(lackingRoom: number, others: number): string {
  const texts = [
    ...(lackingRoom > 0 ? [`${lackingRoom} No preemption victims found for incoming pod`] : []),
    ...(others > 0 ? [`${others} Preemption is not helpful for scheduling`] : []),
  ];
  return texts.sort().join(', ');
}
