import { formatTime, type Instant, type Plan } from '@gantry/base';
import { equalJson, type Node, type Pod, type PodCondition, toleratesTaint } from '@gantry/objects';

/** Deletes the pod, with a condition that says why. */
export type Action = { readonly kind: 'evict'; readonly condition: PodCondition };

/** Evicts a pod that does not tolerate its node's NoExecute taints, now or when its toleration runs out. */
export function planEviction(pod: Pod, node: Node | undefined, now: Instant): Plan<Action> {
  if (node === undefined || pod.metadata.deletionTimestamp !== undefined) return { actions: [] };
  const taints = (node.spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
  if (taints.length === 0) return { actions: [] };
  let at = Number.POSITIVE_INFINITY;
  for (const taint of taints) {
    const tolerations = (pod.spec?.tolerations ?? []).filter((toleration) => toleratesTaint(toleration, taint));
    if (tolerations.length === 0) return evictAt(now, now);
    for (const { tolerationSeconds } of tolerations) {
      if (tolerationSeconds === undefined) continue;
      const since = taint.timeAdded === undefined ? now : Date.parse(taint.timeAdded);
      at = Math.min(at, since + Math.max(0, tolerationSeconds) * 1000);
    }
  }
  return Number.isFinite(at) ? evictAt(at, now) : { actions: [] };
}

function evictAt(at: Instant, now: Instant): Plan<Action> {
  if (at > now) return { actions: [], requeueAt: at };
  const message = 'Taint manager: deleting due to NoExecute taint';
  return { actions: [{ kind: 'evict', condition: disruptionTarget('DeletionByTaintManager', message, now) }] };
}

/** Whether a change of a node may evict pods, or spare them. */
export function taintsDiffer(node: Node | undefined, old: Node | undefined): boolean {
  return !equalJson(node?.spec?.taints ?? [], old?.spec?.taints ?? []);
}

/** The condition that says why a pod is deleted. */
export function disruptionTarget(reason: string, message: string, now: Instant): PodCondition {
  return { type: 'DisruptionTarget', status: 'True', reason, message, lastTransitionTime: formatTime(now) };
}
