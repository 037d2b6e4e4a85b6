import type { Container, ContainerRestartRule, PodSpec } from '../generated/types.ts';

const RESTART_OF_ALL = 'RestartAllContainers';

/** The first restart rule of a container that matches the exit code. Rules only apply if the container has its own restart policy. */
export function matchingRestartRule(container: Container, exitCode: number): ContainerRestartRule | undefined {
  if (container.restartPolicy === undefined) return undefined;
  return container.restartPolicyRules?.find(({ exitCodes }) => {
    const isListed = exitCodes?.values?.includes(exitCode) === true;
    return exitCodes?.operator === 'In' ? isListed : exitCodes?.operator === 'NotIn' && !isListed;
  });
}

/**
 * Whether a container is restarted after this exit code: by its rules, then its own policy, then the pod's policy (Kubernetes'
 * ContainerShouldRestart).
 */
export function restartsAfterExit(
  { restartPolicy = 'Always' }: Pick<PodSpec, 'restartPolicy'>,
  container: Container,
  exitCode: number,
): boolean {
  const rule = matchingRestartRule(container, exitCode);
  if (rule?.action === 'Restart' || restartsAll(rule)) return true;
  const policy = container.restartPolicy ?? restartPolicy;
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
}

/** Whether a rule restarts all containers of the pod. */
export function restartsAll(rule: Pick<ContainerRestartRule, 'action'> | undefined): boolean {
  return rule?.action === RESTART_OF_ALL;
}

/** Whether an exit of one of the pod's containers may restart all of them (Kubernetes' AllContainersCouldRestart). */
export function hasRestartOfAll(spec: Pick<PodSpec, 'containers' | 'initContainers'> | undefined): boolean {
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  return containers.some(({ restartPolicyRules = [] }) => restartPolicyRules.some((rule) => restartsAll(rule)));
}
