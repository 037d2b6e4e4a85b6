import { type ContainerStatus, equalJson, type PodCondition, type PodStatus } from '@gantry/objects';

/** These conditions follow from other parts of the status, or only show the progress of a start or an end. */
const QUIET_CONDITIONS: ReadonlySet<string> = new Set(['PodReadyToStartContainers', 'Initialized', 'PodScheduled']);
const STARTING: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing']);

/**
 * Whether a change of a pod's status may be delayed. That holds if it only shows that the node has seen the pod or its new generation,
 * has granted the initial resources, creates the containers for the first time, has the pod's address, or has removed the sandbox.
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

/** A missing condition and a condition that is `False` count as equal. */
function isTelling({ type, status }: PodCondition): boolean {
  return status !== 'False' && !QUIET_CONDITIONS.has(type);
}

function isFirstStart({ state, lastState, restartCount }: ContainerStatus): boolean {
  const isNew = restartCount === 0 && Object.keys(lastState ?? {}).length === 0;
  return isNew && STARTING.has(state?.waiting?.reason ?? '');
}
