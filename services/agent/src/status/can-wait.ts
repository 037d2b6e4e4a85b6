import { type ContainerStatus, equalJson, type PodCondition, type PodStatus } from '@gantry/objects';

/** They follow from what else a status says, or say how far the node is with a start or an end. */
const QUIET_CONDITIONS: ReadonlySet<string> = new Set(['PodReadyToStartContainers', 'Initialized', 'PodScheduled']);
const STARTING: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing']);

/**
 * Whether clients can wait for a change of a pod's status: it says no more than that the node has seen the pod or its new generation,
 * has granted what the pod was created with, makes its containers for the first time, has its address, or has taken its sandbox away.
 */
export function canWait(before: PodStatus, after: PodStatus): boolean {
  const { resources, allocatedResources } = after;
  const isFirst = before.resources === undefined && resources !== undefined;
  const granted = isFirst ? { resources, ...(allocatedResources === undefined ? {} : { allocatedResources }) } : {};
  return equalJson(essenceOf({ ...before, ...granted }), essenceOf(after));
}

function essenceOf(status: PodStatus): object {
  const {
    observedGeneration: _generation,
    startTime: _startTime,
    hostIP: _hostIP,
    hostIPs: _hostIPs,
    podIP: _podIP,
    podIPs: _podIPs,
    conditions = [],
    containerStatuses = [],
    initContainerStatuses = [],
    ephemeralContainerStatuses = [],
    ...others
  } = status;
  return {
    ...others,
    conditions: conditions
      .filter(isTelling)
      .map(({ type, status: is, reason, message }) => [type, is, reason, message]),
    containers: [containerStatuses, initContainerStatuses, ephemeralContainerStatuses].map((list) =>
      list.filter((container) => !isFirstStart(container)),
    ),
  };
}

/** A condition that is not true yet says the same as none. */
function isTelling({ type, status }: PodCondition): boolean {
  return status !== 'False' && !QUIET_CONDITIONS.has(type);
}

function isFirstStart({ state, lastState, restartCount }: ContainerStatus): boolean {
  const isNew = restartCount === 0 && Object.keys(lastState ?? {}).length === 0;
  return isNew && STARTING.has(state?.waiting?.reason ?? '');
}
