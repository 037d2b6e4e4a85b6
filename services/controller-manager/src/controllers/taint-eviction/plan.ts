import type { Instant, Plan } from '@gantry/base';
import {
  claimsOfPod,
  disruptionTarget,
  equalJson,
  isOfStatefulSet,
  type Node,
  type Pod,
  type PodCondition,
  toleratesTaint,
} from '@gantry/objects';

const NO_EXECUTE = 'NoExecute';

/** The memory of a pod whose toleration expires later. */
export interface ScheduledEviction {
  /** When this was first observed. Taints without a time count from then. */
  readonly since: Instant;
}

export type Action =
  /** Deletes the pod, with a condition that gives the reason. `due` is when its toleration expired. */
  | { readonly kind: 'evict'; readonly condition: PodCondition; readonly due: Instant }
  /** Remembers that the pod will be evicted. */
  | { readonly kind: 'schedule'; readonly since: Instant }
  /** Reports that the pod stays or is deleted for another reason, and forgets it. */
  | { readonly kind: 'cancel' };

/**
 * The grace period with which a pod is evicted; undefined for the pod's own. With a grace period of 0, the API server would remove the object
 * at once. A pod that may have an identity stays until its containers are known to have stopped.
 */
export function evictionGrace(pod: Pod): number | undefined {
  if (pod.spec?.terminationGracePeriodSeconds !== 0) return undefined;
  return isOfStatefulSet(pod) || claimsOfPod(pod).length > 0 ? 1 : undefined;
}

/** Evicts a pod that does not tolerate its node's NoExecute taints, now or when its toleration expires. */
export function planEviction(
  pod: Pod,
  node: Node | undefined,
  scheduled: ScheduledEviction | undefined,
  now: Instant,
): Plan<Action> {
  if (node === undefined || pod.metadata.deletionTimestamp !== undefined) return { actions: [] };
  const since = scheduled?.since ?? now;
  const at = evictionTime(pod, node, since);
  const cancel: readonly Action[] = scheduled === undefined ? [] : [{ kind: 'cancel' }];
  if (at === undefined) return { actions: cancel };
  if (at === 'now') return { actions: [...cancel, evict(pod, now, now)] };
  if (at <= now) return { actions: [evict(pod, at, now)] };
  return { actions: scheduled === undefined ? [{ kind: 'schedule', since }] : [], requeueAt: at };
}

/**
 * When the pod must be evicted; undefined if it tolerates all taints forever. For each taint, the first matching toleration counts, from
 * the time when pod and taint met: a pod bound to a node that has been tainted for long stays as long as any other, as in Kubernetes.
 */
function evictionTime(pod: Pod, node: Node, since: Instant): Instant | 'now' | undefined {
  // Agents write the time of binding by their own clocks.
  const bound = Math.min(boundAt(pod), since);
  let at: Instant | undefined;
  for (const taint of node.spec?.taints ?? []) {
    if (taint.effect !== NO_EXECUTE) continue;
    const used = pod.spec?.tolerations?.find((toleration) => toleratesTaint(toleration, taint));
    if (used === undefined) return 'now';
    if (used.tolerationSeconds === undefined) continue;
    const from = taint.timeAdded === undefined ? since : Math.max(Date.parse(taint.timeAdded), bound);
    const end = from + Math.max(0, used.tolerationSeconds) * 1000;
    at = at === undefined ? end : Math.min(at, end);
  }
  return at;
}

/** When a pod was bound to its node; its creation time if it was created with one. */
function boundAt({ metadata, status }: Pod): Instant {
  const scheduled = status?.conditions?.find((one) => one.type === 'PodScheduled' && one.status === 'True');
  const time = scheduled?.lastTransitionTime ?? metadata.creationTimestamp;
  return time === undefined ? Number.NEGATIVE_INFINITY : Date.parse(time);
}

function evict(pod: Pod, due: Instant, now: Instant): Action {
  const message = 'Taint manager: deleting due to NoExecute taint';
  const condition = disruptionTarget(pod, 'DeletionByTaintManager', message, now);
  return { kind: 'evict', condition, due };
}

/** Whether a node has a taint that evicts pods which do not tolerate it. */
export function hasEvictingTaint(node: Node | undefined): boolean {
  return node?.spec?.taints?.some(({ effect }) => effect === NO_EXECUTE) === true;
}

/** Whether a change of a node may start or stop evictions. */
export function taintsDiffer(node: Node | undefined, old: Node | undefined): boolean {
  return !equalJson(node?.spec?.taints ?? [], old?.spec?.taints ?? []);
}

/** Whether an update of a pod may change its eviction: its node, its tolerations or its deletion. */
export function changesEviction(pod: Pod, old: Pod): boolean {
  return (
    pod.spec?.nodeName !== old.spec?.nodeName ||
    pod.metadata.deletionTimestamp !== old.metadata.deletionTimestamp ||
    !equalJson(pod.spec?.tolerations, old.spec?.tolerations)
  );
}
