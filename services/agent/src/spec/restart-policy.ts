import { type Container, type Pod, restartsAfterExit } from '@gantry/objects';
import type { PodContainer } from './pod-containers.ts';

/**
 * Whether a container is started again after this exit code: by its rules, then by its own policy, then by the pod's, as kubelet
 * decides it (pkg/api/v1/pod, ContainerShouldRestart). An init container that succeeded has done its work.
 */
export function shouldRestart(pod: Pod, { role, container }: PodContainer, exitCode: number): boolean {
  switch (role) {
    case 'sidecar':
      return true;
    case 'init':
      return exitCode !== 0 && restartsAfterExit(pod.spec ?? {}, container, exitCode);
    case 'ephemeral':
      return false;
    case 'main':
      return restartsAfterExit(pod.spec ?? {}, container, exitCode);
  }
}

/** Whether a container that a probe or a change stops is started again: its rules are for exits of its own. */
export function restartsAfterStop(pod: Pod, { role, container }: PodContainer): boolean {
  return role === 'sidecar' || policyOf(pod, container) !== 'Never';
}

function policyOf(pod: Pod, container: Container): string {
  return container.restartPolicy ?? pod.spec?.restartPolicy ?? 'Always';
}
