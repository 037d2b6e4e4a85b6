import { rename, rm, writeFile } from 'node:fs/promises';

/** Options of replacing a file. */
export interface ReplaceFileOptions {
  /** Mode of the new file; 0666 without the bits of the umask when absent. */
  readonly mode?: number;
  /** The temporary file, in the same folder; `PATH.next` when absent. Simultaneous writers need different ones. */
  readonly temporary?: string;
}

/**
 * Replaces a file atomically: readers see either the old or the new content, also after a loss of power. The folder must exist. Rejects
 * with the file system's error; the file is then unchanged.
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  { mode, temporary = `${path}.next` }: ReplaceFileOptions = {},
): Promise<void> {
  // Remove leftovers of a killed writer: an old file would keep its mode, and a link would be followed.
  await rm(temporary, { force: true });
  // Flushed before the rename, so that the name on disk never leads to partial content.
  await writeFile(temporary, content, { flag: 'wx', flush: true, mode });
  await rename(temporary, path);
}
