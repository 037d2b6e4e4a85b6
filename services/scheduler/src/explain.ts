/** Why one node was refused. */
export interface Refusal {
  readonly plugin: string;
  readonly reasons: readonly string[];
}

/**
 * Kubernetes' text for a pod that fits nowhere: how many nodes had which reason, sorted as text. Nothing is ever preempted here, and the
 * text says so as Kubernetes does.
 */
export function explainRefusals(nodeCount: number, refusals: readonly Refusal[]): string {
  if (nodeCount === 0) return 'no nodes available to schedule pods';
  const counts = new Map<string, number>();
  for (const reason of refusals.flatMap(({ reasons }) => reasons)) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const texts = [...counts].map(([reason, count]) => `${count} ${reason}`).sort();
  const head = `0/${nodeCount} nodes are available: ${texts.join(', ')}.`;
  return `${head} preemption: 0/${nodeCount} nodes are available: ${explainPreemption(refusals)}.`;
}

/** Making room helps only where resources or ports were lacking. */
function explainPreemption(refusals: readonly Refusal[]): string {
  const roomLacking = refusals.filter(({ plugin }) => plugin === 'NodeResourcesFit' || plugin === 'NodePorts').length;
  const others = refusals.length - roomLacking;
  const texts = [
    ...(roomLacking > 0 ? [`${roomLacking} No preemption victims found for incoming pod`] : []),
    ...(others > 0 ? [`${others} Preemption is not helpful for scheduling`] : []),
  ];
  return texts.sort().join(', ');
}
