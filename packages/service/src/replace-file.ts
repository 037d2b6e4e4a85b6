import { rename, rm, writeFile } from 'node:fs/promises';

/** How a file is replaced. */
export interface ReplaceFileOptions {
  /** Of the new file; what the umask leaves of 0666 when absent. */
  readonly mode?: number;
  /** Where the content is written first, in the same folder; `PATH.next` when absent. Writers at the same time need one each. */
  readonly temporary?: string;
}

/**
 * Replaces a file as a whole: readers see what was there before or the new content, and so does the next start after a loss of power. The
 * folder must exist. Rejects with the error of the file system; the file is the one before then.
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  { mode, temporary = `${path}.next` }: ReplaceFileOptions = {},
): Promise<void> {
  // What a writer that was killed has left would keep its mode, and a link would be followed.
  await rm(temporary, { force: true });
  // Flushed before it is renamed: a name that is on the disk leads to the whole content.
  await writeFile(temporary, content, { flag: 'wx', flush: true, mode });
  await rename(temporary, path);
}
