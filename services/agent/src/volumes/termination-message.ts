import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorMessage } from '@gantry/base';
import type { Container } from '@gantry/objects';
import { containerPathOf } from '../spec/container-path.ts';

/** Where a container writes its message unless its spec says otherwise. */
const DEFAULT_PATH = '/dev/termination-log';
/** The longest message of a container (Kubernetes: MaxContainerTerminationMessageLength). */
const MAX_MESSAGE_BYTES = 4096;
/** What stands there is a regular file; should it ever be a link or a FIFO, it is neither followed nor waited for. */
const SAFELY = constants.O_NOFOLLOW | constants.O_NONBLOCK;

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
