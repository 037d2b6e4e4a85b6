import type { ContainerStatus, Pod } from '@gantry/objects';

/** What the API has of each container that a pod was created with, main ones first. */
export function reportedStatuses({ status }: Pod): readonly ContainerStatus[] {
  return [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
}

/** What the API has of one of them. */
export function reportedStatus(pod: Pod, name: string): ContainerStatus | undefined {
  return reportedStatuses(pod).find((status) => status.name === name);
}
