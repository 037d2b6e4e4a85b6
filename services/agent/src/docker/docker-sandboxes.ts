import type { SandboxRuntime } from '../runtime/sandboxes.ts';
import { sandboxOptions } from './options/sandbox-options.ts';
import { fromDocker, idempotent } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';

/** Sandboxes as pause containers. */
export function dockerSandboxes(calls: EngineCalls): SandboxRuntime {
  const remove = (id: string, signal: AbortSignal) =>
    idempotent(() =>
      calls.change(signal, (docker, abortSignal) =>
        docker.getContainer(id).remove({ force: true, v: true, abortSignal }),
      ),
    );
  return {
    createSandbox: async (spec, signal) => {
      const options = sandboxOptions(spec);
      try {
        const { id } = await calls.change(signal, (docker, abortSignal) =>
          docker.createContainer({ ...options, abortSignal }),
        );
        try {
          await calls.change(signal, (docker, abortSignal) => docker.getContainer(id).start({ abortSignal }));
        } catch (error) {
          // The sandbox goes although the caller may have left: its address would stay in use.
          await remove(id, new AbortController().signal);
          throw error;
        }
        return id;
      } catch (error) {
        throw fromDocker(error, 'Runtime');
      }
    },
    stopSandbox: (id, signal) =>
      idempotent(() => calls.change(signal, (docker, abortSignal) => docker.getContainer(id).kill({ abortSignal }))),
    removeSandbox: remove,
  };
}
