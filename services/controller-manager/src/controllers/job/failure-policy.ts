import type { ContainerStatus, Pod, PodFailurePolicy, PodFailurePolicyRule, PodStatus } from '@gantry/objects';

/** The verdict of a Job's podFailurePolicy on a failed pod. */
export interface PodFailureVerdict {
  /** Whether the failure counts toward the backoff limits. */
  readonly isCounted: boolean;
  readonly failsIndex: boolean;
  /** The action of the deciding rule. */
  readonly action?: PodFailurePolicyRule['action'];
  /** Set when the whole Job fails: the message of its condition. */
  readonly failsJob?: string;
}

const COUNTED: PodFailureVerdict = { isCounted: true, failsIndex: false };

/** The first matching rule decides; without one, the failure is counted. */
export function judgePodFailure(policy: PodFailurePolicy | undefined, pod: Pod): PodFailureVerdict {
  for (const [index, rule] of (policy?.rules ?? []).entries()) {
    const cause = findCause(rule, pod);
    if (cause === undefined) continue;
    const { action } = rule;
    switch (action) {
      case 'Ignore':
        return { isCounted: false, failsIndex: false, action };
      case 'FailIndex':
        return { isCounted: true, failsIndex: true, action };
      case 'Count':
        return { ...COUNTED, action };
      case 'FailJob':
        return { ...COUNTED, failsJob: `${cause} matching FailJob rule at index ${index}`, action };
    }
  }
  return COUNTED;
}

/** Kubernetes' message why a rule matches; undefined if it does not. */
function findCause(rule: PodFailurePolicyRule, pod: Pod): string | undefined {
  const { namespace = '', name = '' } = pod.metadata;
  if (rule.onExitCodes !== undefined) {
    const status = findContainer(pod.status, rule.onExitCodes);
    if (status === undefined) return undefined;
    const exitCode = status.state?.terminated?.exitCode ?? 0;
    return `Container ${status.name} for pod ${namespace}/${name} failed with exit code ${exitCode}`;
  }
  for (const condition of pod.status?.conditions ?? []) {
    for (const pattern of rule.onPodConditions ?? []) {
      if (condition.type !== pattern.type || condition.status !== (pattern.status ?? 'True')) continue;
      return `Pod ${namespace}/${name} has condition ${condition.type}`;
    }
  }
  return undefined;
}

function findContainer(
  status: PodStatus | undefined,
  { containerName, operator, values }: NonNullable<PodFailurePolicyRule['onExitCodes']>,
): ContainerStatus | undefined {
  const all = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  return all.find(({ name, state }) => {
    const exitCode = state?.terminated?.exitCode ?? 0;
    if (exitCode === 0 || (containerName !== undefined && containerName !== name)) return false;
    if (operator === 'In') return values.includes(exitCode);
    return operator === 'NotIn' && !values.includes(exitCode);
  });
}
