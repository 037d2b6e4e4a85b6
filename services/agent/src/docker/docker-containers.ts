import type Docker from 'dockerode';
import type { ContainerRuntime } from '../runtime/containers.ts';
import type { EnginePrivilege } from '../runtime/engine.ts';
import { containerOptions } from './options/container-options.ts';
import { fromDocker, idempotent } from './docker-error.ts';
import { execInContainer } from './exec.ts';

/** Containers of pods. `privilege` is the result of the engine's probe. */
export function dockerContainers(docker: Docker, privilege: () => EnginePrivilege): ContainerRuntime {
  return {
    createContainer: async (spec) => {
      try {
        return (await docker.createContainer(containerOptions(spec, privilege()))).id;
      } catch (error) {
        throw fromDocker(error, 'CreateContainerError');
      }
    },
    startContainer: async (id) => {
      try {
        await docker.getContainer(id).start();
      } catch (error) {
        throw fromDocker(error, 'RunContainerError');
      }
    },
    stopContainer: (id, graceSeconds, signal) =>
      idempotent(() => docker.getContainer(id).stop({ t: Math.max(0, Math.ceil(graceSeconds)), abortSignal: signal })),
    removeContainer: (id) => idempotent(() => docker.getContainer(id).remove({ force: true, v: true })),
    exec: (id, command, signal) => execInContainer(docker, id, command, signal),
  };
}
