import { chmod, chown, mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isThere } from '../../files/if-there.ts';
import { groupMode } from '../../files/file-owner.ts';

const ANY_USER = 0o777;

/**
 * Makes a folder for any user, or one of a group, with its mode at one moment. One that exists stays as it is: its mode is the
 * pod's to change.
 */
export async function makeFolder(folder: string, group?: number): Promise<void> {
  if (await isThere(folder)) return;
  await mkdir(dirname(folder), { recursive: true });
  // No volume's name has a tilde.
  const next = `${folder}~`;
  await rm(next, { recursive: true, force: true });
  await mkdir(next);
  if (group !== undefined) await chown(next, -1, group);
  await chmod(next, group === undefined ? ANY_USER : groupMode(ANY_USER, 'folder', 'read-write'));
  await rename(next, folder);
}
