import { mkdir, rm } from 'node:fs/promises';
import { release } from 'node:os';
import { AgentError } from '../runtime/agent-error.ts';
import type { HostMounts } from '../runtime/host-mounts.ts';
import { bindOpened, type HostNamespace } from './bind-opened.ts';
import { mountOf, mountsBelow, mountTable } from './mount-table.ts';
import { linuxDisks } from './linux-disks.ts';
import { linuxNfs } from './linux-nfs.ts';
import { runProgram, tryProgram } from './run-program.ts';

const OWN_NETWORK = '/proc/self/ns/net';
const NETWORK_FILE_SYSTEM = /^nfs4?$/;
const UNMOUNT_MS = 60_000;
/** Short, because a lazy unmount contacts no server. */
const DETACH_MS = 10_000;
/** Options of a tmpfs. The kernel supports `noswap` from 6.4 on. */
const MEMORY_OPTIONS = ['nosuid', 'nodev'];
const NOSWAP_KERNEL = [6, 4] as const;

/** The namespaces of the engine's host, for an agent in a container. */
export interface EngineHost {
  /** Returns the path of the host's network namespace. */
  readonly findNetwork: () => Promise<string>;
  readonly mounts: HostNamespace;
}

/**
 * Mounts with mount(8) in this process's mount namespace. Files opened on the host are bound in the host's namespace, and network servers
 * are reached from the host's network. Needs CAP_SYS_ADMIN.
 */
export function linuxMounts(host?: EngineHost): HostMounts {
  return {
    network: linuxNfs(host?.findNetwork ?? (async () => OWN_NETWORK)),
    disks: linuxDisks,
    bind: (sources, folder) => bindOpened(sources, folder, host?.mounts),
    mountMemory,
    checkMemory,
    isMounted,
    detach,
    remove,
  };
}

/**
 * AgentError 'FailedMount' unless mounts in `folder` propagate to the engine's host. Otherwise containers would get the files under the
 * mount.
 */
export async function checkPropagation(folder: string): Promise<void> {
  if (mountOf(await mountTable(), folder)?.propagation === 'shared') return;
  throw new AgentError(
    'FailedMount',
    `what is mounted in ${folder} (GANTRY_STATE_DIR) does not appear on the engine's host: bind the folder with the propagation rshared, as docker-compose.yml does`,
  );
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

/** An unreachable network server blocks an ordinary unmount without a timeout. Like the kubelet, force the unmount after a minute. */
async function unmountAll(folder: string): Promise<void> {
  const mounts = mountsBelow(await mountTable(), folder);
  if (mounts.length === 0) return;
  const args = ['--no-canonicalize', ...mounts.map(({ path }) => path)];
  if (!mounts.some(({ fileSystem }) => NETWORK_FILE_SYSTEM.test(fileSystem))) {
    await runProgram('umount', args, { timeoutMs: UNMOUNT_MS });
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

/** Refuses to remove a folder with mounts, because their content would be removed, too. */
async function removeFiles(folder: string): Promise<void> {
  const [left] = mountsBelow(await mountTable(), folder);
  if (left !== undefined) throw new AgentError('FailedMount', `${left.path} is still mounted`);
  try {
    await rm(folder, { recursive: true, force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENAMETOOLONG') throw error;
    // The paths are longer than the kernel accepts. rm(1) descends folder by folder.
    await runProgram('rm', ['-rf', '--one-file-system', '--', folder]);
  }
}
