import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Container } from '@gantry/objects';

/** Where a container writes its message unless its spec says otherwise. */
const DEFAULT_PATH = '/dev/termination-log';
const MAX_MESSAGE_BYTES = 4096;

/** Makes the empty file that an attempt of a container mounts for its termination message. */
export async function createMessageFile(
  podFolder: string,
  container: Container,
  attempt: number,
): Promise<{ readonly file: string; readonly containerPath: string }> {
  const folder = join(podFolder, 'containers', container.name);
  await mkdir(folder, { recursive: true });
  const file = join(folder, String(attempt));
  await writeFile(file, '');
  await chmod(file, 0o666);
  return { file, containerPath: container.terminationMessagePath ?? DEFAULT_PATH };
}

/** The message that an ended container wrote; '' without one. */
export async function readMessageFile(path: string): Promise<string> {
  try {
    return (await readFile(path)).subarray(0, MAX_MESSAGE_BYTES).toString();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
