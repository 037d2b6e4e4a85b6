import type { Pod } from '@gantry/api';
import type { ContainerState, PodState, SandboxState } from '../runtime/runtime.ts';

/** An engine that shuts down ends a pod's sandbox and containers within this time of each other, in any order. */
const SHUTDOWN_MS = 10_000;
const KILLED = 137;

/**
 * What the engine shows, with exits taken for what they are: a container that ended because its sandbox did (the engine
 * was shut down, somebody killed the sandbox) has not succeeded, however politely it left. Pods that had ended before are
 * left as they are: their sandboxes are ended by us.
 */
export function interpretEnds(pod: Pod | undefined, state: PodState | undefined): PodState | undefined {
  const phase = pod?.status?.phase;
  if (state === undefined || phase === 'Succeeded' || phase === 'Failed') return state;
  return { ...state, containers: state.containers.map((container) => interpret(container, state.sandboxes)) };
}

function interpret(container: ContainerState, sandboxes: readonly SandboxState[]): ContainerState {
  if (container.state !== 'exited' || container.exitCode !== 0) return container;
  const sandbox = sandboxes.find(({ id }) => id === container.sandboxId);
  if (sandbox?.finishedAt === undefined || sandbox.state === 'running') return container;
  const endedBefore = (container.finishedAt ?? 0) < sandbox.finishedAt - SHUTDOWN_MS;
  return endedBefore ? container : { ...container, exitCode: KILLED };
}
