import type { Container, ContainerRestartRule, Pod } from '@gantry/objects';
import type { PodContainer } from './pod-containers.ts';

/** The first rule of a container that this exit code matches. Rules count only beside a policy of the container's own. */
export function matchingRestartRule(container: Container, exitCode: number): ContainerRestartRule | undefined {
  if (container.restartPolicy === undefined) return undefined;
  return container.restartPolicyRules?.find(({ exitCodes }) => {
    const isListed = exitCodes?.values?.includes(exitCode) === true;
    return exitCodes?.operator === 'In' ? isListed : exitCodes?.operator === 'NotIn' && !isListed;
  });
}

/**
 * Whether a container is started again after this exit code: by its rules, then by its own policy, then by the pod's, as kubelet
 * decides it (pkg/api/v1/pod, ContainerShouldRestart). An init container that succeeded has done its work.
 */
export function shouldRestart(pod: Pod, { role, container }: PodContainer, exitCode: number): boolean {
  switch (role) {
    case 'sidecar':
      return true;
    case 'init':
      return exitCode !== 0 && byPolicy(pod, container, exitCode);
    case 'ephemeral':
      return false;
    case 'main':
      return byPolicy(pod, container, exitCode);
  }
}

function byPolicy(pod: Pod, container: Container, exitCode: number): boolean {
  if (matchingRestartRule(container, exitCode)?.action === 'Restart') return true;
  return allows(policyOf(pod, container), exitCode);
}

/** Whether a container that a probe or a change stops is started again: its rules are for exits of its own. */
export function restartsAfterStop(pod: Pod, { role, container }: PodContainer): boolean {
  return role === 'sidecar' || policyOf(pod, container) !== 'Never';
}

function policyOf(pod: Pod, container: Container): string {
  return container.restartPolicy ?? pod.spec?.restartPolicy ?? 'Always';
}

function allows(policy: string, exitCode: number): boolean {
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
}
