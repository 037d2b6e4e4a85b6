import { type Container, type Pod, restartsAfterExit } from '@gantry/objects';
import type { PodContainer } from './pod-containers.ts';

/**
 * Whether a container is restarted after this exit code, like in the kubelet (pkg/api/v1/pod, ContainerShouldRestart): by its restart
 * rules, then its own policy, then the pod's policy. An init container that succeeded is not restarted.
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

/**
 * Whether a container is restarted after a probe or a change stopped it. Its restart rules do not apply, since they are for its own
 * exits.
 */
export function restartsAfterStop(pod: Pod, { role, container }: PodContainer): boolean {
  return role === 'sidecar' || policyOf(pod, container) !== 'Never';
}

function policyOf(pod: Pod, container: Container): string {
  return container.restartPolicy ?? pod.spec?.restartPolicy ?? 'Always';
}

/**
 * Pod annotation: the longest delay before a restart of its containers, in seconds from 1 to 300. It can only shorten the agent's
 * setting.
 */
export const RESTART_DELAY_ANNOTATION = 'gantry.dev/max-restart-delay-seconds';

/** The longest restart delay in milliseconds. `fault` describes an invalid annotation, which is ignored. */
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
