import { constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Container } from '@gantry/objects';
import { containerPathOf } from '../spec/container-path.ts';

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
