import { formatTime, type Instant, type Plan } from '@gantry/base';
import {
  disruptionTarget,
  hasEnded,
  isFinalPhase,
  type Node,
  type Pod,
  type PodCondition,
  type PodStatus,
} from '@gantry/objects';

/** The input of the plan. `missingSince` is the time since which the pod's node has been missing. */
interface ObservedPod {
  readonly pod: Pod;
  /** The pod's node; undefined if it has none or the node does not exist. */
  readonly node: Node | undefined;
  readonly missingSince: Instant | undefined;
}

export type Action =
  | { readonly kind: 'markFailed'; readonly status: PodStatus }
  /** Without a grace period, because no agent is left that could stop the pod. */
  | { readonly kind: 'delete'; readonly why: 'node-gone' | 'out-of-service' | 'never-started' };

/**
 * A node that is deleted by mistake and registers again keeps its pods; and a pod may be seen before its node. Agents check for their Node
 * every few seconds. As in Kubernetes (`quarantineTime`).
 */
export const QUARANTINE_MS = 40_000;

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

/** Whether an administrator has declared that nothing runs on a node: by a taint, while the node is not ready. */
export function isOutOfService(node: Node | undefined): boolean {
  if (node?.spec?.taints?.some(({ key }) => key === OUT_OF_SERVICE) !== true) return false;
  return node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') !== true;
}

/** Whether an update of a pod may change its collection: its node or its deletion. */
export function changesCollection(pod: Pod, old: Pod): boolean {
  return pod.spec?.nodeName !== old.spec?.nodeName || pod.metadata.deletionTimestamp !== old.metadata.deletionTimestamp;
}

/**
 * Deletes pods whose node is gone, deleted pods whose node is out of service, and pods that were deleted before they got a node. They are
 * marked as failed first, because no agent is left that would.
 */
export function planPodCollection({ pod, node, missingSince }: ObservedPod, now: Instant): Plan<Action> {
  const isDeleted = pod.metadata.deletionTimestamp !== undefined;
  if ((pod.spec?.nodeName ?? '') === '') return { actions: isDeleted ? ending(pod, 'never-started', now) : [] };
  if (isDeleted && isOutOfService(node)) return { actions: ending(pod, 'out-of-service', now) };
  if (missingSince === undefined) return { actions: [] };
  const requeueAt = missingSince + QUARANTINE_MS;
  return now < requeueAt ? { actions: [], requeueAt } : { actions: ending(pod, 'node-gone', now) };
}

function ending(pod: Pod, why: Extract<Action, { kind: 'delete' }>['why'], now: Instant): readonly Action[] {
  const lost = disruptionTarget(pod, 'DeletionByPodGC', 'PodGC: node no longer exists', now);
  const status = failedStatus(pod, why === 'node-gone' ? lost : undefined, now);
  return [
    ...(status === undefined ? [] : [{ kind: 'markFailed', status } as const]),
    ...(isLeaving(pod) ? [] : [{ kind: 'delete', why } as const]),
  ];
}

/**
 * Whether a pod has been deleted without a grace period and is held by finalizers: deleting it again changes nothing. Without finalizers it
 * must be deleted again: the API server marks a pod before it removes it, and may have crashed in between.
 */
function isLeaving({ metadata: { deletionTimestamp, deletionGracePeriodSeconds, finalizers } }: Pod): boolean {
  return deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && (finalizers ?? []).length > 0;
}

/**
 * A strategic merge patch of the status of a pod that no agent will report on: failed and not ready. Undefined if the pod has ended
 * already.
 */
export function failedStatus(
  { status, metadata: { generation } }: Pod,
  condition: PodCondition | undefined,
  now: Instant,
): PodStatus | undefined {
  if (isFinalPhase(status?.phase)) return undefined;
  const isReady = status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true;
  const conditions: PodCondition[] = [
    ...(condition === undefined ? [] : [condition]),
    ...(isReady ? [{ type: 'Ready', status: 'False', lastTransitionTime: formatTime(now) }] : []),
  ];
  return { phase: 'Failed', observedGeneration: generation, ...(conditions.length === 0 ? {} : { conditions }) };
}

/** The maximum number of finished pods, as in Kubernetes (`terminated-pod-gc-threshold`). */
export const MAX_FINISHED = 12_500;

/** The finished pods beyond the limit: evicted ones first, then the oldest. */
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
