import { constants } from 'node:fs';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Container } from '@gantry/objects';
import { containerPathOf } from '../spec/container-path.ts';
import { AgentError } from '../runtime/agent-error.ts';
import { openBeneath, openOwned } from '../mounts/open-path.ts';
import { readRegularFile } from '../files/if-there.ts';
import { errorMessage } from '@gantry/base';

/** Where a container writes its message unless its spec says otherwise. */
const DEFAULT_PATH = '/dev/termination-log';
/** The longest message of a container (Kubernetes: MaxContainerTerminationMessageLength). */
const MAX_MESSAGE_BYTES = 4096;
/** The size limit of a file with environment variables for a container. */
const MAX_BYTES = 2 ** 20;
/** Paths of the resolver configuration, hosts file and hostname inside containers. */
export const RESOLVER_PATH = '/etc/resolv.conf';
export const HOSTS_PATH = '/etc/hosts';
export const HOSTNAME_PATH = '/etc/hostname';
/**
 * Flags for opening a pod's file. Pods can write to the file but not replace it; even if it became a link or a FIFO, it would not be
 * followed or waited for.
 */
const SAFELY = constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Whether the container mounts something else at the path. */
export function hasOwnFile(container: Container, path: string): boolean {
  return (container.volumeMounts ?? []).some(({ mountPath }) => containerPathOf(mountPath) === path);
}

/**
 * Writes a file that all containers of a pod mount. `once`: only while the file is missing or empty. `always`: on each call, because
 * the pod's address in the file changes with its sandbox. The inode stays the same, since containers have mounted it.
 */
export async function writePodFile(path: string, text: string, write: 'once' | 'always'): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await using handle = await open(path, constants.O_RDWR | constants.O_CREAT | SAFELY, 0o644);
  // An empty file is left by an agent that ended between creating and writing it.
  if (write === 'once' && (await handle.stat()).size > 0) return;
  await handle.chmod(0o644);
  await handle.truncate(0);
  await handle.writeFile(text);
}

/**
 * The text of a regular file in a volume, which a pod may have written; links are refused, so that none leads out of the volume.
 * Undefined for a file that is missing, too large, or cannot be read.
 */
export async function volumeText(volume: string, path: string): Promise<string | undefined> {
  try {
    await using root = await openOwned(volume);
    await using found = await openBeneath(root, path, 'refuse');
    // Do not open a device: opening alone can have effects.
    if (!(await found.stat()).isFile()) return undefined;
    const content = await readRegularFile(`/proc/self/fd/${found.fd}`, MAX_BYTES);
    return typeof content === 'string' ? undefined : content.toString();
  } catch (error) {
    if (error instanceof AgentError) return undefined;
    throw error;
  }
}

/** The container's path of its termination message. */
export function messageContainerPath(container: Container): string {
  const path = container.terminationMessagePath ?? '';
  return path === '' ? DEFAULT_PATH : containerPathOf(path);
}

/** Creates the empty file that a container's attempt mounts for its termination message. Any user may write to it. */
export async function makeMessageFile(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await using handle = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC | SAFELY, 0o666);
  await handle.chmod(0o666);
}

/** The last 4096 bytes of an ended container's termination message, as in the kubelet; '' without one. Never rejects. */
export async function readMessageFile(path: string): Promise<string> {
  try {
    await using handle = await open(path, constants.O_RDONLY | SAFELY);
    return await readTail(handle);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    // The kubelet's message. An unreadable message must not keep the pod from ending.
    return `Error on reading termination log: ${errorMessage(error)}`;
  }
}

async function readTail(handle: FileHandle): Promise<string> {
  const { size } = await handle.stat();
  const length = Math.min(size, MAX_MESSAGE_BYTES);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length);
  return buffer.subarray(0, bytesRead).toString();
}
