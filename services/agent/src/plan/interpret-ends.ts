import { hasEnded, type Pod } from '@gantry/objects';
import type { ContainerState } from '../runtime/containers.ts';
import type { PodState } from '../runtime/observer.ts';
import type { SandboxState } from '../runtime/sandboxes.ts';

/** An engine that shuts down ends a pod's sandbox and containers within this time of each other, in any order. */
const SHUTDOWN_MS = 10_000;
const KILLED = 137;

/**
 * The engine's state with corrected exit codes: a container that ended because its sandbox did (the engine was shut down,
 * or the sandbox was killed) has not succeeded, even with exit code 0. The state of a pod that had ended before is not
 * changed: the agent itself stopped its sandbox.
 */
export function interpretEnds(pod: Pod | undefined, state: PodState | undefined): PodState | undefined {
  if (state === undefined || hasEnded(pod)) return state;
  return { ...state, containers: state.containers.map((container) => interpret(container, state.sandboxes)) };
}

function interpret(container: ContainerState, sandboxes: readonly SandboxState[]): ContainerState {
  if (container.state !== 'exited' || container.exitCode !== 0) return container;
  const sandbox = sandboxes.find(({ id }) => id === container.sandboxId);
  if (sandbox?.finishedAt === undefined || sandbox.state === 'running') return container;
  const endedBefore = (container.finishedAt ?? 0) < sandbox.finishedAt - SHUTDOWN_MS;
  return endedBefore ? container : { ...container, exitCode: KILLED };
}
