import { hasEnded, type Pod } from '@gantry/objects';
import { isLeaving } from './plan.ts';

/** How many finished pods may exist, as in Kubernetes (`terminated-pod-gc-threshold`). */
export const MAX_FINISHED = 12_500;

/** The finished pods beyond the limit that are to be removed: evicted ones first, then the oldest. */
export function excessPods(pods: readonly Pod[], limit: number): readonly Pod[] {
  const finished = pods.filter(hasEnded);
  if (finished.length <= limit) return [];
  const excess = finished.toSorted(byEvictionAndAge).slice(0, finished.length - limit);
  return excess.filter((pod) => !isLeaving(pod));
}

function byEvictionAndAge(a: Pod, b: Pod): number {
  const evicted = Number(isEvicted(b)) - Number(isEvicted(a));
  if (evicted !== 0) return evicted;
  const [left = '', right = ''] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (left !== right) return left < right ? -1 : 1;
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1;
}

function isEvicted({ status }: Pod): boolean {
  return status?.phase === 'Failed' && status.reason === 'Evicted';
}
