import { mkdir, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentError } from '../runtime/agent-error.ts';
import type { HostMounts } from '../runtime/host-mounts.ts';

/**
 * Simulates mounts by links and folders, for a runtime without containers. Needs no privileges, and fulfils the same contract as real
 * mounts.
 */
export function hollowMounts(): HostMounts {
  return {
    network: {
      mountNfs: (folder) => mountFolder(folder),
      checkAnswers: async (folder) => {
        if (!(await isThere(markOf(folder)))) throw new AgentError('FailedMount', 'the NFS volume is not mounted');
      },
    },
    disks: { mountDisk: (folder) => mountFolder(folder) },
    bind: async (sources, folder) => {
      await mkdir(folder, { recursive: true });
      const paths = sources.map((_, index) => join(folder, String(index)));
      for (const [index, { opened }] of sources.entries()) {
        await symlink(await readlink(`/proc/self/fd/${opened.fd}`), paths[index] ?? '');
      }
      return paths;
    },
    mountMemory: async (folder, _sizeBytes, mode) => {
      const made = await mkdir(folder, { recursive: true, mode });
      if (made === undefined) return 'kept';
      await markMounted(folder);
      return 'made';
    },
    checkMemory: async (folder) => {
      try {
        await stat(folder);
      } catch (error) {
        throw new AgentError('FailedMount', 'the memory for Secrets is not mounted', { cause: error });
      }
    },
    isMounted: (folder) => isThere(markOf(folder)),
    detach: async (folder) => await rm(folder, { recursive: true, force: true }),
    remove: async (folder) => {
      await rm(folder, { recursive: true, force: true });
      await rm(markOf(folder), { force: true });
    },
  };
}

async function mountFolder(folder: string): Promise<'made' | 'kept'> {
  if (await isThere(markOf(folder))) return 'kept';
  await mkdir(folder, { recursive: true });
  await markMounted(folder);
  return 'made';
}

/** Marks a folder as a mount point. */
export async function markMounted(folder: string): Promise<void> {
  await writeFile(markOf(folder), '');
}

/** Volume names contain no tilde. */
function markOf(folder: string): string {
  return `${folder}~mounted`;
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(ignoreMissing)) !== undefined;
}

function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
