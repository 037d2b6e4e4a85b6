import { type Binding, equalJson, type Pod, type PodCondition, PODS, StatusError } from '@gantry/objects';
import { formatTime, type Instant } from '@gantry/base';
import type { ObjectWrite, WriteResult } from '@gantry/client';
import type { PodInfo } from './framework/pod-info.ts';

/** Assigns a pod, the very one that was decided on, to a node. */
export function bindingOf({ pod }: PodInfo, nodeName: string): ObjectWrite {
  const { namespace = '', name = '', uid = '' } = pod.metadata;
  const object: Binding = {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { namespace, name, ...(uid === '' ? {} : { uid }) },
    target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
  };
  return { verb: 'create', resource: PODS, namespace, name, object, subresource: 'binding' };
}

/** The write that tells in the pod's status why it has no node; undefined when that stands there already. */
export function refusalOf(pod: Pod, message: string, now: Instant): ObjectWrite | undefined {
  const { namespace = '', name = '', uid, generation } = pod.metadata;
  const current = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const told: PodCondition = {
    type: 'PodScheduled',
    status: 'False',
    reason: 'Unschedulable',
    message,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  if (current !== undefined && saysSame(current, told)) return undefined;
  const lastTransitionTime = current?.status === 'False' ? current.lastTransitionTime : undefined;
  const condition = { ...told, lastProbeTime: null, lastTransitionTime: lastTransitionTime ?? formatTime(now) };
  return {
    verb: 'patch',
    resource: PODS,
    key: { namespace, name },
    patch: { metadata: { uid }, status: { conditions: [condition] } },
    patchType: 'application/strategic-merge-patch+json',
    subresource: 'status',
  };
}

function saysSame(current: PodCondition, told: PodCondition): boolean {
  const { status, reason, message, observedGeneration } = current;
  const { status: toldStatus, reason: toldReason, message: toldMessage, observedGeneration: toldGeneration } = told;
  return equalJson(
    [status, reason, message, observedGeneration ?? null],
    [toldStatus, toldReason, toldMessage, toldGeneration ?? null],
  );
}

/** The results of a batch; when the whole call failed, each write has that for its result. */
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
