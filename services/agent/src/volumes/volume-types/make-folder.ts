import { chmod, mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

const ANY_USER = 0o777;

/** Makes a folder for any user with its mode at one moment. One that exists stays as it is: its mode is the pod's to change. */
export async function makeFolder(folder: string): Promise<void> {
  if (await exists(folder)) return;
  await mkdir(dirname(folder), { recursive: true });
  // No volume's name has a tilde.
  const next = `${folder}~`;
  await rm(next, { recursive: true, force: true });
  await mkdir(next);
  await chmod(next, ANY_USER);
  await rename(next, folder);
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
