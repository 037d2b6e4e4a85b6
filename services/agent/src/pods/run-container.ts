import type { Pod } from '@gantry/objects';
import { backOffAfter } from '../plan/back-off.ts';
import type { ContainerStart } from '../plan/pod-plan.ts';
import { isAgentError } from '../runtime/agent-error.ts';
import type { ActionContext } from './action-context.ts';
import { disposeLater } from './worker-memory.ts';
import { type PreparedStart, startContainer, type StartPlace, startPrepared } from './start-container.ts';

/**
 * Starts a container, or the already created one in `prepared`, and remembers the result. AgentError 'Outdated' when the pod must be planned
 * again first.
 */
export async function runContainer(
  pod: Pod,
  next: ContainerStart,
  place: StartPlace,
  prepared: PreparedStart | undefined,
  context: ActionContext,
): Promise<void> {
  const { memory, events, services, gate, step } = context;
  const { clock, random } = services;
  const { name } = next.container;
  try {
    const started =
      prepared === undefined
        ? await startContainer(pod, next, place, { drafts: memory.drafts, gate }, services, step)
        : await startPrepared(pod, next, { ...prepared, gate }, place, services, step);
    disposeLater(memory, started.paths);
    if (started.hookFailure === undefined) {
      memory.backOffs.delete(name);
      return;
    }
    memory.failedPostStart.add(started.id);
    memory.backOffs.set(name, backOffAfter(started.hookFailure, memory.backOffs.get(name), clock.now(), random));
    events.hookFailed(pod, name, 'PostStart');
  } catch (error) {
    // Not a failure of the container: the next plan starts it if it is still wanted.
    if (isAgentError(error, 'Outdated')) throw error;
    startFailed(pod, name, error, context);
  }
}

/** Records and reports why a container was not started. Throws when the step was aborted. */
export function startFailed(
  pod: Pod,
  name: string,
  error: unknown,
  { memory, events, services, step }: Pick<ActionContext, 'memory' | 'events' | 'services' | 'step'>,
): void {
  step.throwIfAborted();
  const entry = backOffAfter(error, memory.backOffs.get(name), services.clock.now(), services.random);
  memory.backOffs.set(name, entry);
  events.startFailed(pod, name, entry);
}
