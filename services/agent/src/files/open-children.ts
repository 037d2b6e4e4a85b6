import { constants } from 'node:fs';
import { type FileHandle, open, opendir } from 'node:fs/promises';

/** Linux's O_PATH: the descriptor names the object and opens nothing, so a FIFO does not block and a device does not act. */
export const NAME_ONLY = 0o10000000 | constants.O_NOFOLLOW;

/** An entry of a folder. */
export interface Child {
  /** Through the descriptor of the folder, wherever that is moved. */
  readonly path: string;
  /** Closed when the next entry is asked for. */
  readonly handle: FileHandle;
}

/**
 * The entries of an open folder, one after another and not as a list: a pod may have made tens of millions. No link is followed, and
 * what is removed meanwhile is left out.
 */
export async function* openChildren(folder: { readonly fd: number }): AsyncIterable<Child> {
  const base = `/proc/self/fd/${folder.fd}`;
  for await (const name of namesOf(base)) {
    const path = `${base}/${name}`;
    const handle = await openIfThere(path);
    if (handle === undefined) continue;
    try {
      yield { path, handle };
    } finally {
      await handle.close();
    }
  }
}

/** A folder that is removed meanwhile has no more entries. */
async function* namesOf(base: string): AsyncIterable<string> {
  try {
    for await (const { name } of await opendir(`${base}/.`)) yield name;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** The descriptor of what is at a path, by its name only; undefined when nothing is. */
export async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, NAME_ONLY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
