import type { Instant } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import { isActive, readySince } from '../pods/pod-state.ts';

const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';
const PHASE_ORDER: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

/**
 * The pods in the order in which a shrinking set gives them up: unassigned before assigned, pending before running, unready
 * before ready, lower deletion cost, on more crowded nodes, ready for less time, more restarts, newer. Times count by
 * their order of magnitude, as Kubernetes' LogarithmicScaleDown has it.
 */
export function rankForDeletion(pods: readonly Pod[], related: readonly Pod[], now: Instant): Pod[] {
  const onNode = new Map<string, number>();
  for (const pod of related.filter(isActive)) {
    const node = pod.spec?.nodeName ?? '';
    onNode.set(node, (onNode.get(node) ?? 0) + 1);
  }
  const crowd = (pod: Pod) => onNode.get(pod.spec?.nodeName ?? '') ?? 0;
  return [...pods].sort(
    (a, b) =>
      assigned(a) - assigned(b) ||
      (PHASE_ORDER[a.status?.phase ?? 'Pending'] ?? 0) - (PHASE_ORDER[b.status?.phase ?? 'Pending'] ?? 0) ||
      ready(a) - ready(b) ||
      deletionCost(a) - deletionCost(b) ||
      crowd(b) - crowd(a) ||
      magnitude(readySince(a), now) - magnitude(readySince(b), now) ||
      restarts(b) - restarts(a) ||
      magnitude(createdAt(a), now) - magnitude(createdAt(b), now) ||
      (a.metadata.uid ?? '').localeCompare(b.metadata.uid ?? ''),
  );
}

function assigned(pod: Pod): number {
  return (pod.spec?.nodeName ?? '') === '' ? 0 : 1;
}

function ready(pod: Pod): number {
  return readySince(pod) === undefined ? 0 : 1;
}

/** The annotation's number, 0 when it is absent or no integer of 32 bits. */
function deletionCost(pod: Pod): number {
  const text = pod.metadata.annotations?.[DELETION_COST];
  if (text === undefined || !/^(0|-?[1-9]\d*)$/.test(text)) return 0;
  const cost = Number(text);
  return Math.abs(cost) <= 2 ** 31 ? cost : 0;
}

function restarts(pod: Pod): number {
  return Math.max(0, ...(pod.status?.containerStatuses ?? []).map((container) => container.restartCount));
}

function createdAt(pod: Pod): Instant | undefined {
  return pod.metadata.creationTimestamp === undefined ? undefined : Date.parse(pod.metadata.creationTimestamp);
}

/** The order of magnitude of an age, -1 for none. */
function magnitude(since: Instant | undefined, now: Instant): number {
  if (since === undefined || now <= since) return -1;
  return Math.floor(Math.log2((now - since) / 1000 + 1));
}
