import type { Instant } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import type { ContainerState } from '../runtime/containers.ts';
import type { PodGroupState } from '../runtime/pod-groups.ts';
import type { SandboxState } from '../runtime/sandboxes.ts';
import { initContainersOf, mainContainersOf } from '../spec/pod-containers.ts';
import { reportedStatus } from '../spec/reported-status.ts';
import { shouldRestart } from '../spec/restart-policy.ts';
import type { PodMemory } from './pod-memory.ts';
import { isRemovedForRestart, RESTARTING_ALL } from './restarted-containers.ts';

/** The input of a plan for a running pod. */
export interface ObservedPod {
  readonly pod: Pod;
  /** Newest attempts first. */
  readonly containers: readonly ContainerState[];
  readonly sandboxes: readonly SandboxState[];
  readonly memory: PodMemory;
  readonly now: Instant;
  /** The pod's control group. */
  readonly group?: PodGroupState;
}

/** An observed pod with a running sandbox. */
export interface PodInSandbox extends ObservedPod {
  readonly sandbox: SandboxState;
}

/** The newest attempt of a container. */
export function latestAttempt(
  { containers }: Pick<ObservedPod, 'containers'>,
  name: string,
): ContainerState | undefined {
  return containers.find((container) => container.name === name);
}

/** Whether the pod's sandbox has main containers, which means that its init containers have succeeded. */
export function hasStartedMain({ pod, containers, sandbox }: PodInSandbox): boolean {
  return mainContainersOf(pod).some(({ container }) =>
    containers.some((state) => state.name === container.name && state.sandboxId === sandbox.id),
  );
}

/**
 * The exit code of an ended container: from the engine, or from the pod's status when the container was removed. Undefined for a
 * container that was removed or stopped in order to start it again.
 */
export function exitCodeOf(observed: ObservedPod, name: string): number | undefined {
  const latest = latestAttempt(observed, name);
  if (latest !== undefined) {
    const hasEnded = latest.state === 'exited' && !observed.memory.resized.has(latest.id);
    return hasEnded ? (latest.exitCode ?? 0) : undefined;
  }
  if (isRemovedForRestart(observed, name)) return undefined;
  return reportedStatus(observed.pod, name)?.state?.terminated?.exitCode;
}

/**
 * The number of the next attempt: one more than the engine's latest, or than the status reports for a removed container. A reported
 * attempt without a start does not count: the agent died between creating and starting it. A container that waits for a restart of all
 * containers is already reported with the number of its next attempt.
 */
export function nextAttempt(observed: ObservedPod, name: string): number {
  const status = reportedStatus(observed.pod, name);
  const begun = status?.state?.running ?? status?.state?.terminated ?? status?.lastState?.terminated;
  const isNext = begun === undefined || status?.state?.waiting?.reason === RESTARTING_ALL.reason;
  const reported = (status?.restartCount ?? 0) - (isNext ? 1 : 0);
  return Math.max(latestAttempt(observed, name)?.attempt ?? -1, reported) + 1;
}

/** Whether no container of the pod will be started again. */
export function startsNoMore(observed: ObservedPod): boolean {
  const { pod } = observed;
  const over = mainContainersOf(pod).every((item) => {
    const exitCode = exitCodeOf(observed, item.container.name);
    return exitCode !== undefined && !shouldRestart(pod, item, exitCode);
  });
  return over || hasFailedInit(observed);
}

/** Whether an init container has failed and is not restarted. */
function hasFailedInit(observed: ObservedPod): boolean {
  return initContainersOf(observed.pod).some((item) => {
    const latest = latestAttempt(observed, item.container.name);
    const exitCode = latest?.state === 'exited' ? (latest.exitCode ?? 0) : 0;
    return item.role === 'init' && exitCode !== 0 && !shouldRestart(observed.pod, item, exitCode);
  });
}
