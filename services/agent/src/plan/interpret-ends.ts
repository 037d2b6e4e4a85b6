import { containerStatusOf, hasEnded, type Pod } from '@gantry/objects';
import type { ContainerState } from '../runtime/containers.ts';
import type { PodState } from '../runtime/observer.ts';
import type { SandboxState } from '../runtime/sandboxes.ts';
import { initContainersOf, mainContainersOf } from '../spec/pod-containers.ts';
import { containerId } from '../runtime/labels.ts';

/** When an engine shuts down, a pod's sandbox and containers end within this time of each other, in any order. */
const SHUTDOWN_MS = 10_000;
const KILLED = 137;

/**
 * Corrects the exit codes in the engine's state of a running pod. For an ended pod nothing is corrected, because the agent itself stopped
 * the sandbox.
 *
 * - A container with exit code 0 has not succeeded when it was killed. It may have been stopped for new resources, or it ended with its
 *   sandbox, because the engine shut down or the sandbox was killed. Sources: `killed`, the pod's status for an agent that was restarted,
 *   or the end of the sandbox while the sandbox exists.
 * - An init container has succeeded when its sandbox has main containers, since they start only after its success. Another exit code
 *   comes from a run that was started from outside and then stopped, and must not fail the pod.
 */
export function interpretEnds(
  pod: Pod | undefined,
  state: PodState | undefined,
  killed: ReadonlySet<string>,
): PodState | undefined {
  if (pod === undefined || state === undefined || hasEnded(pod)) return state;
  const mainNames = new Set(mainContainersOf(pod).map(({ container }) => container.name));
  const initialized = new Set(
    state.containers.flatMap(({ name, sandboxId }) => (mainNames.has(name) ? [sandboxId] : [])),
  );
  const init = new Set(
    initContainersOf(pod).flatMap(({ role, container }) => (role === 'init' ? [container.name] : [])),
  );
  const containers = state.containers.map((container) => {
    if (container.state !== 'exited') return container;
    if (init.has(container.name) && initialized.has(container.sandboxId)) return { ...container, exitCode: 0 };
    if (container.exitCode !== 0) return container;
    const isKilled = killed.has(container.id) || wasReportedKilled(pod, container);
    return isKilled || endedWithSandbox(container, state.sandboxes) ? { ...container, exitCode: KILLED } : container;
  });
  return { ...state, containers };
}

/** Ids of containers that are killed in `interpreted` but not in `listed`. */
export function killedIn(listed: PodState | undefined, interpreted: PodState | undefined): readonly string[] {
  const codes = new Map((listed?.containers ?? []).map(({ id, exitCode }) => [id, exitCode]));
  return (interpreted?.containers ?? []).flatMap(({ id, exitCode }) =>
    exitCode === KILLED && codes.get(id) === 0 ? [id] : [],
  );
}

function endedWithSandbox(container: ContainerState, sandboxes: readonly SandboxState[]): boolean {
  const sandbox = sandboxes.find(({ id }) => id === container.sandboxId);
  if (sandbox?.finishedAt === undefined || sandbox.state === 'running') return false;
  return (container.finishedAt ?? 0) >= sandbox.finishedAt - SHUTDOWN_MS;
}

/** Whether the pod's status, written by an earlier agent, shows the container as killed. */
function wasReportedKilled(pod: Pod, container: ContainerState): boolean {
  const { state, lastState } = containerStatusOf(pod, container.name) ?? {};
  return [state?.terminated, lastState?.terminated].some(
    (end) => end?.containerID === containerId(container) && end.exitCode === KILLED,
  );
}
