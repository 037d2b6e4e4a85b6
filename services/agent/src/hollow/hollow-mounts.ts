import { mkdir, readlink, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentError } from '../runtime/agent-error.ts';
import type { HostMounts } from '../runtime/host-mounts.ts';

/** Links and folders in place of mounts, for a runtime without containers: needs no rights. Held to the contract of real mounts. */
export function hollowMounts(): HostMounts {
  return {
    bind: async (opened, folder) => {
      await mkdir(folder, { recursive: true });
      const paths = opened.map((_, index) => join(folder, String(index)));
      for (const [index, { fd }] of opened.entries()) {
        await symlink(await readlink(`/proc/self/fd/${fd}`), paths[index] ?? '');
      }
      return paths;
    },
    mountMemory: async (folder, _sizeBytes, mode) => {
      const made = await mkdir(folder, { recursive: true, mode });
      return made === undefined ? 'kept' : 'made';
    },
    checkMemory: async (folder) => {
      try {
        await stat(folder);
      } catch (error) {
        throw new AgentError('FailedMount', 'the memory for Secrets is not mounted', { cause: error });
      }
    },
    remove: (folder) => rm(folder, { recursive: true, force: true }),
  };
}
