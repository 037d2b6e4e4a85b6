import { constants, type Stats } from 'node:fs';
import { open, readFile, readlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { errorMessage } from '@gantry/base';
import { AgentError } from '../runtime/agent-error.ts';
import type { HostFileKind, HostFiles, OpenedPath } from '../runtime/host-files.ts';
import { openOnHost, openOwned, type Missing } from './open-path.ts';
import { giveToGroup } from '../files/file-owner.ts';
import { usageOf } from '../files/tree-usage.ts';

const FILE_MODE = 0o644;

/** The files of the host. `findRoot` returns the root of the host's file system as a path of this process; see `hostRoot`. */
export function linuxHostFiles(findRoot: () => Promise<string>): HostFiles {
  const opened = async (path: string, missing: Missing) => {
    await using root = await openOwned(`${await findRoot()}/.`, 'host');
    return await openOnHost(root, path, missing);
  };
  const visit = async <T>(path: string, missing: Missing, act: (found: OpenedPath | undefined) => Promise<T>) => {
    try {
      const found = await opened(path, missing);
      if (found === undefined) return await act(undefined);
      await using _ = found;
      return await act(found);
    } catch (error) {
      throw unreachable(error);
    }
  };
  return {
    kindOf: (path) =>
      visit(path, 'refuse', async (found) => (found === undefined ? undefined : kind(await found.stat()))),
    makeFolder: (path) => visit(path, 'create', async () => undefined),
    makeFile: (path) =>
      visit(dirname(path), 'refuse', async (folder) => {
        if (folder === undefined) throw new AgentError('FailedMount', `open ${path}: no such file or directory`);
        const flags = constants.O_CREAT | constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
        await (await open(`/proc/self/fd/${folder.fd}/${basename(path)}`, flags, FILE_MODE)).close();
      }),
    usageOf: (path, until) =>
      visit(path, 'refuse', async (folder) =>
        folder === undefined ? { bytes: 0, inodes: 0 } : await usageOf(folder, until),
      ),
    open: async (path) => {
      try {
        return await opened(path, 'refuse');
      } catch (error) {
        throw unreachable(error);
      }
    },
    giveToGroup: (path, to, change, signal) =>
      visit(path, 'refuse', async (folder) => {
        if (folder === undefined) throw new AgentError('FailedMount', `open ${path}: no such file or directory`);
        await giveToGroup(`/proc/self/fd/${folder.fd}/.`, to, change, signal);
      }),
  };
}

/**
 * The root of the host's file system, as a path that this process can open. It is the root of the nearest parent process in another mount
 * namespace, which started this container. Needs the host's process namespace (`pid: host`) and CAP_SYS_PTRACE; AgentError 'FailedMount'
 * without these.
 */
export async function hostRoot(): Promise<string> {
  return `/proc/${await hostProcess()}/root`;
}

/** The host's network namespace, found like `hostRoot`. */
export async function hostNetwork(): Promise<string> {
  return `/proc/${await hostProcess()}/ns/net`;
}

/** The host's mount namespace, found like `hostRoot`. The engine resolves the paths of bind mounts in it. */
export async function hostMountNamespace(): Promise<string> {
  return `/proc/${await hostProcess()}/ns/mnt`;
}

async function hostProcess(): Promise<number> {
  const own = await readlink('/proc/self/ns/mnt');
  for (let pid = process.pid; pid > 0; pid = await parentOf(pid)) {
    if ((await namespaceOf(pid)) !== own) return pid;
  }
  throw new AgentError(
    'FailedMount',
    "the files of the engine's host are out of reach: this agent does not see its processes (pid: host)",
  );
}

async function namespaceOf(pid: number): Promise<string> {
  try {
    return await readlink(`/proc/${pid}/ns/mnt`);
  } catch (error) {
    const message = `the files of the engine's host are out of reach: ${errorMessage(error)} (CAP_SYS_PTRACE)`;
    throw new AgentError('FailedMount', message, { cause: error });
  }
}

async function parentOf(pid: number): Promise<number> {
  return Number(/^PPid:\s*(\d+)$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
}

function unreachable(error: unknown): AgentError {
  return new AgentError('FailedMount', errorMessage(error), { cause: error });
}

function kind(stats: Stats): HostFileKind {
  if (stats.isDirectory()) return 'folder';
  if (stats.isFile()) return 'file';
  if (stats.isSocket()) return 'socket';
  if (stats.isCharacterDevice()) return 'character-device';
  return stats.isBlockDevice() ? 'block-device' : 'other';
}
