import type { Pod } from '@gantry/objects';
import { backOffAfter } from '../plan/back-off.ts';
import type { ActionContext } from './action-context.ts';

/** Remembers and reports why a container was not started. Throws when the step was aborted. */
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
