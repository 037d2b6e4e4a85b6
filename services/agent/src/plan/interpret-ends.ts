import { containerStatusOf, hasEnded, type Pod } from '@gantry/objects';
import type { ContainerState } from '../runtime/containers.ts';
import type { PodState } from '../runtime/observer.ts';
import type { SandboxState } from '../runtime/sandboxes.ts';
import { initContainersOf, mainContainersOf } from '../spec/pod-containers.ts';
import { containerId } from '../runtime/labels.ts';

/** An engine that shuts down ends a pod's sandbox and containers within this time of each other, in any order. */
const SHUTDOWN_MS = 10_000;
const KILLED = 137;

/**
 * The engine's state with corrected exit codes, of a pod that has not ended. Of one that has, the agent itself stopped the sandbox.
 *
 * - A container that was stopped for its new resources where exit code 0 ends it, or ended because its sandbox did (the engine was shut
 *   down, or the sandbox was killed), has not succeeded, even with exit code 0. That is known by `killed`, for the next agent by the pod's
 *   status, or while the sandbox is there by when that ended.
 * - An init container has succeeded when its sandbox has main containers: no other exit code lets them begin. Another one is of a run
 *   that was started from outside, which is stopped, and must not make the pod fail.
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

/** Ids of containers that `interpreted` says were killed, and `listed` does not. */
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

/** An agent before this one knew it. */
function wasReportedKilled(pod: Pod, container: ContainerState): boolean {
  const { state, lastState } = containerStatusOf(pod, container.name) ?? {};
  return [state?.terminated, lastState?.terminated].some(
    (end) => end?.containerID === containerId(container) && end.exitCode === KILLED,
  );
}
