import type { Pod } from '@gantry/objects';
import { backOffAfter } from '../plan/back-off.ts';
import type { ContainerStart } from '../plan/pod-plan.ts';
import type { ActionContext } from './action-context.ts';
import type { Slot } from './slots.ts';
import { disposeLater } from './worker-memory.ts';
import { type PreparedContainer, startContainer, type StartPlace, startPrepared } from './start-container.ts';

/** A created container, and the slot that its sandbox may have passed on. */
export interface PreparedStart {
  readonly container: PreparedContainer;
  readonly slot?: Slot;
}

/** Starts a container, or the already created one in `prepared`, and remembers the result. */
export async function runContainer(
  pod: Pod,
  next: ContainerStart,
  place: StartPlace,
  prepared: PreparedStart | undefined,
  context: ActionContext,
): Promise<void> {
  const { memory, events, services, step } = context;
  const { clock, random } = services;
  const { name } = next.container;
  try {
    const started =
      prepared === undefined
        ? await startContainer(pod, next, place, memory.drafts, services, step)
        : await startPrepared(pod, next, prepared.container, place, services, step, prepared.slot);
    disposeLater(memory, started.paths);
    if (started.hookFailure === undefined) {
      memory.backOffs.delete(name);
      return;
    }
    memory.failedPostStart.add(started.id);
    memory.backOffs.set(name, backOffAfter(started.hookFailure, memory.backOffs.get(name), clock.now(), random));
    events.hookFailed(pod, name, 'PostStart');
  } catch (error) {
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
