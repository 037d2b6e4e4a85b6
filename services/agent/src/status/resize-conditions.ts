import type { Pod, PodCondition } from '@gantry/objects';
import { resized } from '../plan/plan-resize.ts';
import { isGroupResized } from '../plan/pod-group.ts';
import type { PodMemory } from '../plan/pod-memory.ts';
import type { PodState } from '../runtime/observer.ts';

const PENDING = { deferred: 'Deferred', infeasible: 'Infeasible' };

/** What a pod's conditions say of a resize, of a pod with the resources that are in force. Without a resize there is none. */
export function resizeConditions(
  pod: Pod,
  state: PodState | undefined,
  { resize, updates, groupUpdate }: PodMemory,
): readonly Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>[] {
  const changing = resized({ pod, containers: state?.containers ?? [] });
  const isGroupChanging = isGroupResized(pod, state?.group);
  const ofGroup = isGroupChanging ? groupUpdate?.failure : undefined;
  const ofContainer = changing
    .map(({ running }) => updates.get(running.name))
    .find(
      (last) => last?.failure !== undefined && changing.some(({ running }) => running.id === last.containerId),
    )?.failure;
  const failure = ofGroup ?? ofContainer;
  return [
    ...(resize.kind === 'fits'
      ? []
      : [{ type: 'PodResizePending', status: 'True', reason: PENDING[resize.kind], message: resize.message }]),
    ...(changing.length === 0 && !isGroupChanging
      ? []
      : [
          {
            type: 'PodResizeInProgress',
            status: 'True',
            ...(failure === undefined ? {} : { reason: 'Error', message: failure.message }),
          },
        ]),
  ];
}
