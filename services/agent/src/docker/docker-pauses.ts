import type { PauseRuntime } from '../runtime/pauses.ts';
import { describeDockerError, fromDocker } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';
import type { Inspections } from './inspections.ts';

/** Containers that the engine has paused for someone else. */
export function dockerPauses(calls: EngineCalls, inspections: Pick<Inspections, 'changing'>): PauseRuntime {
  return {
    unpause: async (id, signal) => {
      try {
        await inspections.changing(id, () =>
          calls.change(signal, (docker, abortSignal) => docker.getContainer(id).unpause({ abortSignal })),
        );
      } catch (error) {
        const { status, message } = describeDockerError(error);
        // The engine has no code of its own for it.
        if (status !== 404 && !/is not paused/i.test(message)) throw fromDocker(error, 'Runtime');
      }
    },
  };
}
