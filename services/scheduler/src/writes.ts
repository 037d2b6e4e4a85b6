import { formatTime, type Instant } from '@gantry/base';
import type { ObjectWrite, WriteResult } from '@gantry/client';
import {
  type Binding,
  disruptionTarget,
  equalJson,
  keyOf,
  type Pod,
  type PodCondition,
  PODS,
  StatusError,
} from '@gantry/objects';
import type { PodInfo } from './framework/pod-info.ts';
import { PREEMPTION_REASON } from './preemption/nominations.ts';

/** The write that assigns a pod to a node. It fails when another pod has the same name by now. */
export function bindingOf({ pod }: PodInfo, nodeName: string): ObjectWrite {
  const { namespace = '', name = '', uid = '' } = pod.metadata;
  const object: Binding = {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { namespace, name, uid: uid || undefined },
    target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
  };
  return { verb: 'create', resource: PODS, namespace, name, object, subresource: 'binding' };
}

/**
 * The write that says in the pod's status why it has no node and which node it is nominated to (`''` for none). Returns undefined when the
 * status says so already.
 */
export function refusalOf(
  { pod }: PodInfo,
  { message, nominatedTo }: { readonly message: string; readonly nominatedTo: string },
  now: Instant,
): ObjectWrite | undefined {
  const conditions = refusalConditions(pod, message, now);
  const isNominated = (pod.status?.nominatedNodeName ?? '') === nominatedTo;
  if (conditions.length === 0 && isNominated) return undefined;
  return statusPatch(pod, {
    ...(conditions.length === 0 ? {} : { conditions }),
    ...(isNominated ? {} : { nominatedNodeName: nominatedTo === '' ? null : nominatedTo }),
  });
}

/** The write that withdraws a pod's nomination. */
export function withdrawalOf({ pod }: PodInfo): ObjectWrite {
  return statusPatch(pod, { nominatedNodeName: null });
}

/** The write that says in a victim's status why it is deleted. Returns undefined when the status says so already. */
export function preemptionMarkOf({ pod: victim }: PodInfo, { pod }: PodInfo, now: Instant): ObjectWrite | undefined {
  const scheduler = pod.spec?.schedulerName ?? '';
  const message = `${scheduler}: preempting to accommodate a higher priority pod`;
  const mark = disruptionTarget(victim, PREEMPTION_REASON, message, now);
  const current = victim.status?.conditions?.find(({ type }) => type === mark.type);
  return current !== undefined && saysSame(current, mark) ? undefined : statusPatch(victim, { conditions: [mark] });
}

/** The write that deletes a victim with its grace period. It fails when another pod has the same name by now. */
export function preemptionOf({ pod: victim, uid }: PodInfo): ObjectWrite {
  return { verb: 'delete', resource: PODS, key: keyOf(victim), options: { preconditions: { uid } } };
}

function statusPatch(pod: Pod, status: object): ObjectWrite {
  return {
    verb: 'patch',
    resource: PODS,
    key: keyOf(pod),
    patch: { metadata: { uid: pod.metadata.uid }, status },
    patchType: 'application/strategic-merge-patch+json',
    subresource: 'status',
  };
}

/** The condition of a pod without a node, in a list. The list is empty when the status has it already. */
function refusalConditions({ metadata, status }: Pod, message: string, now: Instant): readonly object[] {
  const { generation } = metadata;
  const current = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const told: PodCondition = {
    type: 'PodScheduled',
    status: 'False',
    reason: 'Unschedulable',
    message,
    observedGeneration: generation,
  };
  if (current !== undefined && saysSame(current, told)) return [];
  const lastTransitionTime = current?.status === 'False' ? current.lastTransitionTime : undefined;
  return [{ ...told, lastProbeTime: null, lastTransitionTime: lastTransitionTime ?? formatTime(now) }];
}

function saysSame(current: PodCondition, told: PodCondition): boolean {
  const { status, reason, message, observedGeneration } = current;
  const { status: toldStatus, reason: toldReason, message: toldMessage, observedGeneration: toldGeneration } = told;
  return equalJson(
    [status, reason, message, observedGeneration ?? null],
    [toldStatus, toldReason, toldMessage, toldGeneration ?? null],
  );
}

/** The results of a batch. When the call as a whole fails, each write gets that failure as its result. */
export async function resultsOf(
  call: () => Promise<readonly WriteResult[]>,
  count: number,
): Promise<readonly WriteResult[]> {
  try {
    return await call();
  } catch (error) {
    const status = (error instanceof StatusError ? error : StatusError.timeout(String(error))).toStatus();
    return Array.from({ length: count }, () => ({ ok: false, status }));
  }
}
