/** Why a filter excluded a node. */
export interface Refusal {
  readonly plugin: string;
  readonly reasons: readonly string[];
  /** Why preemption does not help on this node. */
  readonly preemption: 'no-victims' | 'not-helpful';
}

/**
 * Kubernetes' message for an unschedulable pod: the number of nodes per reason, sorted. This scheduler does not preempt, and the
 * message contains Kubernetes' text for that.
 */
export function explainRefusals(nodeCount: number, refusals: readonly Refusal[]): string {
  if (nodeCount === 0) return 'no nodes available to schedule pods';
  const counts = new Map<string, number>();
  for (const reason of refusals.flatMap(({ reasons }) => reasons)) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const texts = [...counts].map(([reason, count]) => `${count} ${reason}`).sort();
  const head = `0/${nodeCount} nodes are available: ${texts.join(', ')}.`;
  return `${head} preemption: 0/${nodeCount} nodes are available: ${explainPreemption(refusals)}.`;
}

function explainPreemption(refusals: readonly Refusal[]): string {
  const lackingRoom = refusals.filter(({ preemption }) => preemption === 'no-victims').length;
  const others = refusals.length - lackingRoom;
  const texts = [
    ...(lackingRoom > 0 ? [`${lackingRoom} No preemption victims found for incoming pod`] : []),
    ...(others > 0 ? [`${others} Preemption is not helpful for scheduling`] : []),
  ];
  return texts.sort().join(', ');
}
