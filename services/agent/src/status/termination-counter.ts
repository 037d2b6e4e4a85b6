import type { ContainerStatus, Pod, PodStatus } from '@gantry/objects';
import type { Metrics } from '@gantry/service';

const STATUSES = [
  ['init_container', 'initContainerStatuses'],
  ['container', 'containerStatuses'],
  ['ephemeral_container', 'ephemeralContainerStatuses'],
] as const satisfies readonly (readonly [string, keyof PodStatus])[];

/** Counts each container that a written status says has terminated, where the one before did not: kubelet's metric. */
export function terminationCounter(metrics: Metrics): (before: Pod, after: Pod) => void {
  const total = metrics.counter('kubelet_terminated_containers_total', 'Cumulative number of container terminations.', [
    'container_type',
    'exit_code',
    'reason',
  ]);
  return (before, after) => {
    for (const [type, field] of STATUSES) {
      for (const { exitCode, reason = '' } of newlyTerminated(
        before.status?.[field] ?? [],
        after.status?.[field] ?? [],
      )) {
        total.inc({ container_type: type, exit_code: String(exitCode), reason });
      }
    }
  };
}

function newlyTerminated(before: readonly ContainerStatus[], after: readonly ContainerStatus[]) {
  const ended = new Set(before.filter(({ state }) => state?.terminated !== undefined).map(({ name }) => name));
  return after.flatMap(({ name, state }) => (ended.has(name) ? [] : (state?.terminated ?? [])));
}
