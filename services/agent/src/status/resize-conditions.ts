import type { Pod, PodCondition } from '@gantry/objects';
import { resized } from '../plan/plan-resize.ts';
import type { PodMemory } from '../plan/pod-memory.ts';
import type { PodState } from '../runtime/observer.ts';

/** What a pod's conditions say of a resize, of a pod with the resources that are in force. Without a resize there is none. */
export function resizeConditions(
  pod: Pod,
  state: PodState | undefined,
  { resize, updates }: PodMemory,
): readonly Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>[] {
  const changing = resized({ pod, containers: state?.containers ?? [] });
  const failure = changing
    .map(({ running }) => updates.get(running.name))
    .find(
      (last) => last?.failure !== undefined && changing.some(({ running }) => running.id === last.containerId),
    )?.failure;
  return [
    ...(resize.kind === 'deferred'
      ? [{ type: 'PodResizePending', status: 'True', reason: 'Deferred', message: resize.message }]
      : []),
    ...(changing.length === 0
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
