import { constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Container } from '@gantry/objects';
import { openedAs } from '../mounts/open-path.ts';
import type { OpenedPath } from '../runtime/host-mounts.ts';

/** Where the containers of a pod find its resolver, its hosts and its hostname. */
export const RESOLVER_PATH = '/etc/resolv.conf';
export const HOSTS_PATH = '/etc/hosts';
export const HOSTNAME_PATH = '/etc/hostname';
/** A pod may write to its file, but not put anything else in its place; should it ever be a link or a FIFO, it is not followed. */
const SAFELY = constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Whether a container mounts something else there. */
export function hasOwnFile(container: Container, path: string): boolean {
  return (container.volumeMounts ?? []).some(({ mountPath }) => mountPath === path);
}

/**
 * Opens a file that all containers of a pod mount, and writes it: only where it does not exist yet, or each time, since the address
 * in it changes with the pod's sandbox.
 */
export async function openPodFile(path: string, text: string, write: 'once' | 'always'): Promise<OpenedPath> {
  await mkdir(dirname(path), { recursive: true });
  const handle = await open(path, constants.O_RDWR | constants.O_CREAT | SAFELY, 0o644);
  try {
    // Empty also after an agent that ended between the two steps.
    if (write === 'always' || (await handle.stat()).size === 0) {
      await handle.chmod(0o644);
      await handle.truncate(0);
      await handle.writeFile(text);
    }
  } catch (error) {
    await handle.close();
    throw error;
  }
  return openedAs(handle, 'file', 'own');
}
