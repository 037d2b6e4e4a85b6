import type Docker from 'dockerode';
import type { SandboxRuntime } from '../runtime/sandboxes.ts';
import { sandboxOptions } from './options/sandbox-options.ts';
import { fromDocker, idempotent } from './docker-error.ts';

/** Sandboxes as pause containers. */
export function dockerSandboxes(docker: Docker): SandboxRuntime {
  return {
    createSandbox: async (spec) => {
      const container = await create(docker, sandboxOptions(spec));
      try {
        await container.start();
      } catch (error) {
        await idempotent(() => container.remove({ force: true }));
        throw fromDocker(error, 'Runtime');
      }
      return container.id;
    },
    stopSandbox: (id) => idempotent(() => docker.getContainer(id).kill()),
    removeSandbox: (id) => idempotent(() => docker.getContainer(id).remove({ force: true, v: true })),
  };
}

async function create(docker: Docker, options: Docker.ContainerCreateOptions): Promise<Docker.Container> {
  try {
    return await docker.createContainer(options);
  } catch (error) {
    throw fromDocker(error, 'Runtime');
  }
}
