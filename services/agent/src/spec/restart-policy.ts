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

/** On a pod: the longest delay before a restart of its containers, in seconds from 1 to 300. It only shortens the agent's. */
export const RESTART_DELAY_ANNOTATION = 'gantry.dev/max-restart-delay-seconds';

/** The longest delay before a restart in milliseconds, and what is wrong with the pod's annotation, which then does not count. */
export function maxRestartDelay(
  pod: Pod | undefined,
  agentMaxMs: number,
): { readonly ms: number; readonly fault?: string } {
  const text = pod?.metadata.annotations?.[RESTART_DELAY_ANNOTATION];
  if (text === undefined) return { ms: agentMaxMs };
  const seconds = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= 300) return { ms: Math.min(agentMaxMs, seconds * 1000) };
  const fault = `annotation ${RESTART_DELAY_ANNOTATION}: ${JSON.stringify(text)} is not a whole number from 1 to 300`;
  return { ms: agentMaxMs, fault };
}
