import type { ContainerStatus, Pod } from '../generated/types.ts';

/** The status of a container of any kind; undefined where the pod has none. */
export function containerStatusOf({ status = {} }: Pod, container: string): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = status;
  const all = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses];
  return all.find(({ name }) => name === container);
}

/** The containerID of the run of a container whose log is the previous one, as its lastState has it; '' where there is none. */
export function lastRunOf(pod: Pod, container: string): string {
  return containerStatusOf(pod, container)?.lastState?.terminated?.containerID ?? '';
}
