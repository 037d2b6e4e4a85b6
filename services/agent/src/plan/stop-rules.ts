import type { Container } from '@gantry/objects';
import type { ContainerState } from '../runtime/containers.ts';
import { allContainersOf, containerHash, graceSecondsOf } from '../spec/pod-containers.ts';
import type { PodInSandbox } from './observed-pod.ts';
import type { PlanDraft, StopContainer } from './pod-plan.ts';

/** Why a container is stopped, as its Event reports it. */
export type StopCause = Pick<StopContainer, 'reason' | 'message'>;

/** A reason to stop a running container of a pod that is to run; undefined when the rule does not apply. */
type StopRule = (
  running: ContainerState,
  container: Container | undefined,
  observed: PodInSandbox,
) => StopCause | undefined;

/** Without its sandbox a container has no network. */
export const SANDBOX_CHANGED: StopCause = {
  reason: 'SandboxChanged',
  message: 'Pod sandbox changed, it will be killed and re-created.',
};

/** The first rule that applies decides. A new reason to stop a container is a rule here. */
const STOP_RULES: readonly StopRule[] = [
  function sandboxChanged(running, _container, { sandbox }) {
    return running.sandboxId === sandbox.id ? undefined : SANDBOX_CHANGED;
  },
  function definitionChanged(running, container) {
    if (container === undefined || containerHash(container) === running.hash) return undefined;
    return { reason: 'Killing', message: `Container ${running.name} definition changed, will be restarted` };
  },
  function probeFailed(running, _container, { memory }) {
    const findings = memory.probes.get(running.name);
    if (findings?.failed === undefined || findings.containerId !== running.id) return undefined;
    return {
      reason: 'Killing',
      message: `Container ${running.name} failed ${findings.failed} probe, will be restarted`,
    };
  },
];

/** Stops every running container that a rule rejects. */
export function planStopRules(draft: PlanDraft, observed: PodInSandbox): void {
  const { pod, containers, memory } = observed;
  const specs = new Map(allContainersOf(pod).map(({ container }) => [container.name, container]));
  for (const running of containers) {
    if (running.state !== 'running' || memory.stopping.has(running.id)) continue;
    for (const rule of STOP_RULES) {
      const cause = rule(running, specs.get(running.name), observed);
      if (cause === undefined) continue;
      stopContainer(draft, running, graceSecondsOf(pod), cause);
      break;
    }
  }
}

/** Adds the action that stops a container. */
export function stopContainer(
  draft: PlanDraft,
  { id, name }: ContainerState,
  graceSeconds: number,
  cause: StopCause,
): void {
  draft.actions.push({ kind: 'stopContainer', id, name, graceSeconds, ...cause });
}
