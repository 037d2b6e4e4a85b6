import type { Instant } from '@gantry/base';
import { DELETION_COST_ANNOTATION, type Pod, sidecarNames } from '@gantry/objects';
import { isActive, isReady, readySince } from '../../libraries/pods/pod-state.ts';

const MIN_INT32 = -(2 ** 31);
const MAX_INT32 = 2 ** 31 - 1;
const PHASE_ORDER: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

/** The values that determine the order, computed once per pod. */
interface Ranked {
  readonly pod: Pod;
  readonly uid: string;
  readonly assigned: number;
  readonly phase: number;
  readonly readySince: Instant | undefined;
  readonly cost: number;
  readonly crowd: number;
  readonly restarts: number;
  readonly sidecarRestarts: number;
  readonly created: Instant | undefined;
}

/**
 * The pods in the order in which a shrinking set deletes them: unassigned before assigned, pending before running, unready before ready,
 * lower deletion cost, on nodes with more related pods, ready for a shorter time, more restarts, newer. If two times have the same order of
 * magnitude, the uid decides, as in Kubernetes' LogarithmicScaleDown.
 */
export function rankForDeletion(pods: readonly Pod[], related: readonly Pod[], now: Instant): Pod[] {
  const onNode = new Map<string, number>();
  for (const pod of related) {
    if (!isActive(pod)) continue;
    const node = pod.spec?.nodeName ?? '';
    onNode.set(node, (onNode.get(node) ?? 0) + 1);
  }
  return pods
    .map((pod) => rankedPod(pod, onNode.get(pod.spec?.nodeName ?? '') ?? 0))
    .sort((a, b) => comparePods(a, b, now))
    .map(({ pod }) => pod);
}

/**
 * The age of each chosen ready pod as an integer multiple of the youngest ready pod's age, as Kubernetes computes it. It shows how far the
 * rough order of ages differs from the exact one.
 */
export function ageRatios(chosen: readonly Pod[], all: readonly Pod[], now: Instant): readonly number[] {
  const ageOf = ({ metadata }: Pod) => now - Date.parse(metadata.creationTimestamp ?? '');
  const youngest = all.reduce((least, pod) => (isReady(pod) ? Math.min(least, ageOf(pod)) : least), Infinity);
  return chosen.filter(isReady).map((pod) => Math.floor(ageOf(pod) / Math.max(1, youngest)));
}

function rankedPod(pod: Pod, crowd: number): Ranked {
  const { creationTimestamp, uid = '' } = pod.metadata;
  return {
    pod,
    uid,
    crowd,
    assigned: (pod.spec?.nodeName ?? '') === '' ? 0 : 1,
    phase: PHASE_ORDER[pod.status?.phase ?? 'Pending'] ?? 0,
    readySince: readySince(pod),
    cost: deletionCost(pod),
    ...restartsOf(pod),
    created: creationTimestamp === undefined ? undefined : Date.parse(creationTimestamp),
  };
}

function comparePods(a: Ranked, b: Ranked, now: Instant): number {
  return (
    a.assigned - b.assigned ||
    a.phase - b.phase ||
    Number(a.readySince !== undefined) - Number(b.readySince !== undefined) ||
    a.cost - b.cost ||
    b.crowd - a.crowd ||
    compareSince(a, b, a.readySince, b.readySince, now) ||
    b.restarts - a.restarts ||
    b.sidecarRestarts - a.sidecarRestarts ||
    compareSince(a, b, a.created, b.created, now)
  );
}

/** Shorter times first, absent ones before all; by uid if the orders of magnitude are equal. */
function compareSince(
  a: Ranked,
  b: Ranked,
  left: Instant | undefined,
  right: Instant | undefined,
  now: Instant,
): number {
  if (left === right) return 0;
  if (left === undefined || left === 0) return -1;
  if (right === undefined || right === 0) return 1;
  return magnitude(left, now) - magnitude(right, now) || (a.uid < b.uid ? -1 : 1);
}

/** The order of magnitude of an age in nanoseconds, as in Kubernetes; -1 for none. */
function magnitude(since: Instant, now: Instant): number {
  return now <= since ? -1 : Math.floor(Math.log2((now - since) * 1e6));
}

/** The number in the annotation; 0 if it is absent or not a 32-bit integer by Kubernetes' rules. */
function deletionCost(pod: Pod): number {
  const text = pod.metadata.annotations?.[DELETION_COST_ANNOTATION];
  if (text === undefined || !/^(-\d+|0|[1-9]\d*)$/.test(text)) return 0;
  const cost = Number(text);
  return cost >= MIN_INT32 && cost <= MAX_INT32 ? cost : 0;
}

/** The maximum restarts of a container, and of a sidecar (an init container with restart policy Always). */
function restartsOf(pod: Pod): { restarts: number; sidecarRestarts: number } {
  const { status } = pod;
  const sidecars = sidecarNames(pod);
  const sidecarStatuses = (status?.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name));
  return {
    restarts: Math.max(0, ...(status?.containerStatuses ?? []).map(({ restartCount }) => restartCount)),
    sidecarRestarts: Math.max(0, ...sidecarStatuses.map(({ restartCount }) => restartCount)),
  };
}
