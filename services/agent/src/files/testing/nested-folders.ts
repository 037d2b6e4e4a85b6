import { execFileSync } from 'node:child_process';
import { type FileHandle, mkdir, open } from 'node:fs/promises';

/** Makes so many folders `d`, each in the one before, however long their path becomes. Returns the last one, open. */
export async function makeNested(root: string, count: number): Promise<FileHandle> {
  let folder = await open(root);
  for (let level = 0; level < count; level++) {
    const path = `/proc/self/fd/${folder.fd}/d`;
    await mkdir(path);
    const next = await open(path);
    await folder.close();
    folder = next;
  }
  return folder;
}

/** Removes a folder with them. Node.js removes by paths, which the kernel limits. */
export function removeNested(root: string): void {
  execFileSync('rm', ['-rf', root]);
}
