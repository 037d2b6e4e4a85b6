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
  /** A deleted pod of a lost node: the status says what its removal waits for. */
  | { readonly kind: 'markWaiting'; readonly status: PodStatus & { readonly message: string } }
  /** Without a grace period, because no agent is left that could stop the pod. */
  | { readonly kind: 'delete'; readonly why: 'node-gone' | 'out-of-service' | 'never-started' };

/**
 * A node that is deleted by mistake and registers again keeps its pods; and a pod may be seen before its node. Agents check for their Node
 * every few seconds. As in Kubernetes (`quarantineTime`).
 */
export const QUARANTINE_MS = 40_000;

/** How long after the end of its grace period a deleted pod of a lost node counts as waiting. The host's custodian needs less. */
export const PROOF_MS = 10_000;

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service';

/** Whether an administrator has declared that nothing runs on a node: by a taint, while the node is not ready. */
export function isOutOfService(node: Node | undefined): boolean {
  if (node?.spec?.taints?.some(({ key }) => key === OUT_OF_SERVICE) !== true) return false;
  return node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') !== true;
}

/** Whether a node is lost: its agent sends no heartbeats. */
export function isLost(node: Node | undefined): boolean {
  return node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'Unknown') === true;
}

/** Whether an update of a pod may change its collection: its node or its deletion. */
export function changesCollection(pod: Pod, old: Pod): boolean {
  return pod.spec?.nodeName !== old.spec?.nodeName || pod.metadata.deletionTimestamp !== old.metadata.deletionTimestamp;
}

/**
 * Deletes pods whose node is gone, deleted pods whose node is out of service, and pods that were deleted before they got a node. They are
 * marked as failed first, because no agent is left that would. A deleted pod whose node is lost stays, since its containers may run: its
 * status says what it waits for.
 */
export function planPodCollection({ pod, node, missingSince }: ObservedPod, now: Instant): Plan<Action> {
  const isDeleted = pod.metadata.deletionTimestamp !== undefined;
  if ((pod.spec?.nodeName ?? '') === '') return { actions: isDeleted ? ending(pod, 'never-started', now) : [] };
  if (isDeleted && isOutOfService(node)) return { actions: ending(pod, 'out-of-service', now) };
  if (isDeleted && isLost(node)) return planWaiting(pod, now);
  if (missingSince === undefined) return { actions: [] };
  const requeueAt = missingSince + QUARANTINE_MS;
  return now < requeueAt ? { actions: [], requeueAt } : { actions: ending(pod, 'node-gone', now) };
}

function planWaiting(pod: Pod, now: Instant): Plan<Action> {
  const { deletionTimestamp = '' } = pod.metadata;
  const { nodeName = '' } = pod.spec ?? {};
  const requeueAt = Date.parse(deletionTimestamp) + PROOF_MS;
  if (now < requeueAt) return { actions: [], requeueAt };
  const message = `Node ${nodeName} is lost. The pod stays, and its successor waits, until the containers are known to have stopped: by an agent of the node's host, or by the taint ${OUT_OF_SERVICE} if the host is off`;
  if (isLeaving(pod) || pod.status?.message === message) return { actions: [] };
  // The reason that Kubernetes' node controller gave such pods.
  return { actions: [{ kind: 'markWaiting', status: { reason: 'NodeLost', message } }] };
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
