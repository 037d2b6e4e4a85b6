import { chmod, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import { AgentError } from '../runtime/agent-error.ts';
import type { HostMounts, OpenedPath } from '../runtime/host-mounts.ts';
import { bindEntry, mountOf, mountsBelow, mountTable } from './mount-table.ts';
import { linuxNfs } from './linux-nfs.ts';
import { runProgram, tryProgram } from './run-program.ts';

const OWN_NETWORK = '/proc/self/ns/net';
const NETWORK_FILE_SYSTEM = /^nfs4?$/;
const UNMOUNT_MS = 60_000;
/** The kernel asks no server for it. */
const DETACH_MS = 10_000;
/** The first descriptor after the standard ones: where a child finds the first of those that it is given. */
const FIRST_FD = 3;
/** The file of mount(8)'s instructions, in the folder of the paths that it binds. */
const TABLE = 'table';
/** Options of file systems in memory. The kernel knows `noswap` from 6.4 on. */
const MEMORY_OPTIONS = ['nosuid', 'nodev'];
const NOSWAP_KERNEL = [6, 4] as const;

/**
 * Mounts by mount(8), in this process's mount namespace. Needs CAP_SYS_ADMIN. Servers are reached from the network that `findNetwork` says,
 * without it from this process's own.
 */
export function linuxMounts(findNetwork = async () => OWN_NETWORK): HostMounts {
  return { network: linuxNfs(findNetwork), bind, mountMemory, checkMemory, isMounted, detach, remove };
}

/**
 * AgentError 'FailedMount' unless what is mounted in `folder` appears on the engine's host too: containers would be given what
 * lies under the mount there.
 */
export async function checkPropagation(folder: string): Promise<void> {
  if (mountOf(await mountTable(), folder)?.propagation === 'shared') return;
  throw new AgentError(
    'FailedMount',
    `what is mounted in ${folder} (GANTRY_STATE_DIR) does not appear on the engine's host: bind the folder with the propagation rshared, as docker-compose.yml does`,
  );
}

async function bind(opened: readonly OpenedPath[], folder: string): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const paths = opened.map((_, index) => join(folder, String(index)));
  for (const [index, { kind }] of opened.entries()) {
    const path = paths[index] ?? '';
    if (kind === 'folder') await mkdir(path);
    else await writeFile(path, '', { flag: 'wx' });
  }
  // One process for all: a process for each costs more than the mounts.
  const table = join(folder, TABLE);
  await writeFile(table, paths.map((path, index) => bindEntry(`/proc/self/fd/${FIRST_FD + index}`, path)).join(''));
  await runProgram(
    'mount',
    // mount(8) hands the descriptor to the kernel as it is, not the path that it has at the moment.
    ['--no-canonicalize', '--all', '--fstab', table],
    { fds: opened.map(({ fd }) => fd) },
  );
  await rm(table);
  for (const [index, each] of opened.entries()) await checkSame(each, paths[index] ?? '');
  return paths;
}

/** The last line of defence: the bound path is the object that was opened. */
async function checkSame(opened: OpenedPath, path: string): Promise<void> {
  const [wanted, found] = await Promise.all([opened.stat(), stat(path)]);
  if (wanted.dev === found.dev && wanted.ino === found.ino) return;
  throw new AgentError('FailedMount', `${path} does not show what was bound there`);
}

async function mountMemory(folder: string, sizeBytes: number, mode: number): Promise<'made' | 'kept'> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (await isMemory(folder)) return 'kept';
  const noswap = knowsNoswap(release()) ? ['noswap'] : [];
  const options = [...MEMORY_OPTIONS, ...noswap, `size=${Math.ceil(sizeBytes)}`, `mode=${mode.toString(8)}`].join(',');
  await runProgram('mount', ['--no-canonicalize', '-t', 'tmpfs', '-o', options, 'tmpfs', folder]);
  return 'made';
}

async function checkMemory(folder: string): Promise<void> {
  if (!(await isMemory(folder))) throw new AgentError('FailedMount', 'the memory for Secrets is not mounted');
}

async function isMounted(folder: string): Promise<boolean> {
  return mountOf(await mountTable(), folder)?.path === folder;
}

async function isMemory(folder: string): Promise<boolean> {
  const mounted = mountOf(await mountTable(), folder);
  return mounted?.path === folder && mounted.fileSystem === 'tmpfs';
}

function knowsNoswap(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map(Number);
  return major > NOSWAP_KERNEL[0] || (major === NOSWAP_KERNEL[0] && minor >= NOSWAP_KERNEL[1]);
}

/** A server of the network that is gone holds up an ordinary unmount without end. As kubelet, it is forced after a minute. */
async function unmountAll(folder: string): Promise<void> {
  const mounts = mountsBelow(await mountTable(), folder);
  if (mounts.length === 0) return;
  const args = ['--no-canonicalize', ...mounts.map(({ path }) => path)];
  if (!mounts.some(({ fileSystem }) => NETWORK_FILE_SYSTEM.test(fileSystem))) {
    await runProgram('umount', args);
    return;
  }
  const failure = await tryProgram('umount', args, { timeoutMs: UNMOUNT_MS });
  if (failure === undefined) return;
  if (failure.kind === 'failed') throw new AgentError('FailedMount', `umount failed: ${failure.output}`);
  const left = mountsBelow(await mountTable(), folder).map(({ path }) => path);
  if (left.length > 0) await runProgram('umount', ['--no-canonicalize', '--force', ...left], { timeoutMs: UNMOUNT_MS });
}

async function detach(folder: string): Promise<void> {
  const bound = mountsBelow(await mountTable(), folder).map(({ path }) => path);
  if (bound.length > 0) {
    await runProgram('umount', ['--no-canonicalize', '--lazy', ...bound], { timeoutMs: DETACH_MS });
  }
  await removeFiles(folder);
}

async function remove(folder: string): Promise<void> {
  await unmountAll(folder);
  await removeFiles(folder);
}

/** Nothing must be mounted in it: that would be removed too. */
async function removeFiles(folder: string): Promise<void> {
  const [left] = mountsBelow(await mountTable(), folder);
  if (left !== undefined) throw new AgentError('FailedMount', `${left.path} is still mounted`);
  try {
    await rm(folder, { recursive: true, force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENAMETOOLONG') throw error;
    // Nested deeper than a path can be long. rm(1) goes down folder by folder.
    await runProgram('rm', ['-rf', '--one-file-system', '--', folder]);
  }
}
