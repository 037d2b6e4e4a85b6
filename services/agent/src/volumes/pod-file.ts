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
/** Of a file whose variables a container gets. */
const MAX_BYTES = 2 ** 20;
/** Where the containers of a pod find its resolver, its hosts and its hostname. */
export const RESOLVER_PATH = '/etc/resolv.conf';
export const HOSTS_PATH = '/etc/hosts';
export const HOSTNAME_PATH = '/etc/hostname';
/** A pod may write to its file, but not put anything else in its place; should it ever be a link or a FIFO, it is not followed. */
const SAFELY = constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Whether a container mounts something else there. */
export function hasOwnFile(container: Container, path: string): boolean {
  return (container.volumeMounts ?? []).some(({ mountPath }) => containerPathOf(mountPath) === path);
}

/**
 * Writes a file that all containers of a pod mount: only where it does not exist yet, or each time, since the address in it changes with the
 * pod's sandbox. It stays the same file, which containers have mounted.
 */
export async function writePodFile(path: string, text: string, write: 'once' | 'always'): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await using handle = await open(path, constants.O_RDWR | constants.O_CREAT | SAFELY, 0o644);
  // Empty also after an agent that ended between the two steps.
  if (write === 'once' && (await handle.stat()).size > 0) return;
  await handle.chmod(0o644);
  await handle.truncate(0);
  await handle.writeFile(text);
}

/**
 * The text of a regular file in a volume, which a pod may have written: no link leads out of the volume. Undefined for one that is
 * missing, too large, or cannot be read.
 */
export async function volumeText(volume: string, path: string): Promise<string | undefined> {
  try {
    await using root = await openOwned(volume);
    await using found = await openBeneath(root, path, 'refuse');
    // A device must not even be opened.
    if (!(await found.stat()).isFile()) return undefined;
    const content = await readRegularFile(`/proc/self/fd/${found.fd}`, MAX_BYTES);
    return typeof content === 'string' ? undefined : content.toString();
  } catch (error) {
    if (error instanceof AgentError) return undefined;
    throw error;
  }
}

/** What stands there is a regular file; should it ever be a link or a FIFO, it is neither followed nor waited for. */

/** The path at which a container finds the file for its message. */
export function messageContainerPath(container: Container): string {
  const path = container.terminationMessagePath ?? '';
  return path === '' ? DEFAULT_PATH : containerPathOf(path);
}

/** Makes the empty file that an attempt of a container mounts for its termination message; any user may write to it. */
export async function makeMessageFile(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await using handle = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC | SAFELY, 0o666);
  await handle.chmod(0o666);
}

/** The end of the message that an ended container wrote, as kubelet reads it; '' without one. Never rejects. */
export async function readMessageFile(path: string): Promise<string> {
  try {
    await using handle = await open(path, constants.O_RDONLY | SAFELY);
    return await readTail(handle);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    // Kubelet's message. The pod must end although its message cannot be read.
    return `Error on reading termination log: ${errorMessage(error)}`;
  }
}

async function readTail(handle: FileHandle): Promise<string> {
  const { size } = await handle.stat();
  const length = Math.min(size, MAX_MESSAGE_BYTES);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length);
  return buffer.subarray(0, bytesRead).toString();
}
