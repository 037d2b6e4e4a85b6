import type { Instant } from '@gantry/base';
import type { Pod } from '@gantry/objects';

/** Neither finished nor being deleted. */
export function isActive(pod: Pod): boolean {
  return (
    pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed' && pod.metadata.deletionTimestamp === undefined
  );
}

/** Since when the pod's Ready condition is true, or undefined when it is not. Unix milliseconds. */
export function readySince(pod: Pod): Instant | undefined {
  const ready = pod.status?.conditions?.find((condition) => condition.type === 'Ready');
  if (ready?.status !== 'True') return undefined;
  return ready.lastTransitionTime === undefined || ready.lastTransitionTime === null
    ? 0
    : Date.parse(ready.lastTransitionTime);
}

/** When the pod has been, or will have been, ready for `minReadySeconds`; undefined when it is not ready. */
export function availableAt(pod: Pod, minReadySeconds: number): Instant | undefined {
  const since = readySince(pod);
  return since === undefined ? undefined : since + minReadySeconds * 1000;
}
