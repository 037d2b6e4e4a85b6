import type { ContainerStatus, Pod } from '@gantry/objects';

/** The API's status of each container that a pod was created with, main containers first. */
export function reportedStatuses({ status }: Pod): readonly ContainerStatus[] {
  return [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
}

/** The API's status of one of these containers. */
export function reportedStatus(pod: Pod, name: string): ContainerStatus | undefined {
  return reportedStatuses(pod).find((status) => status.name === name);
}
