import { hasEnded, type Pod } from '@gantry/objects';
import type { ContainerState } from '../runtime/containers.ts';
import type { PodState } from '../runtime/observer.ts';
import type { SandboxState } from '../runtime/sandboxes.ts';
import { initContainersOf, mainContainersOf } from '../spec/pod-containers.ts';

/** An engine that shuts down ends a pod's sandbox and containers within this time of each other, in any order. */
const SHUTDOWN_MS = 10_000;
const KILLED = 137;

/**
 * The engine's state with corrected exit codes, of a pod that has not ended. Of one that has, the agent itself stopped the sandbox.
 *
 * - A container that ended because its sandbox did (the engine was shut down, or the sandbox was killed) has not succeeded, even with
 *   exit code 0.
 * - An init container has succeeded when its sandbox has main containers: no other exit code lets them begin. Another one is of a run
 *   that was started from outside, which is stopped, and must not make the pod fail.
 */
export function interpretEnds(pod: Pod | undefined, state: PodState | undefined): PodState | undefined {
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
    return endedWithSandbox(container, state.sandboxes);
  });
  return { ...state, containers };
}

function endedWithSandbox(container: ContainerState, sandboxes: readonly SandboxState[]): ContainerState {
  if (container.exitCode !== 0) return container;
  const sandbox = sandboxes.find(({ id }) => id === container.sandboxId);
  if (sandbox?.finishedAt === undefined || sandbox.state === 'running') return container;
  const endedBefore = (container.finishedAt ?? 0) < sandbox.finishedAt - SHUTDOWN_MS;
  return endedBefore ? container : { ...container, exitCode: KILLED };
}
