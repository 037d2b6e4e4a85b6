import { access, readdir, readFile, open } from 'node:fs/promises';
import { constants } from 'node:fs';

const MISSING: readonly string[] = ['ENOENT'];

/** Errors for a path below /proc/<pid> of a process that has ended. */
export const PROCESS_ENDED: readonly string[] = ['ENOENT', 'ESRCH', 'EINVAL'];

/** Whether something exists at a path. `absent` lists the error codes that mean that nothing does; other errors are thrown. */
export async function isThere(path: string, absent = MISSING): Promise<boolean> {
  return (await unlessAbsent(access(path), absent)) !== ABSENT;
}

/** The text of a file; undefined when it is absent. */
export async function readIfThere(path: string, absent = MISSING): Promise<string | undefined> {
  const text = await unlessAbsent(readFile(path, 'utf8'), absent);
  return text === ABSENT ? undefined : text;
}

/** The names in a folder; empty when it is absent. */
export async function namesIn(folder: string, absent = MISSING): Promise<readonly string[]> {
  const names = await unlessAbsent(readdir(folder), absent);
  return names === ABSENT ? [] : names;
}

/** The result of `unlessAbsent` for something that does not exist. */
export const ABSENT = Symbol('absent');

/** The result of work on a file or folder. `absent` lists the error codes that mean that it does not exist; other errors are thrown. */
export async function unlessAbsent<T>(work: Promise<T>, absent = MISSING): Promise<T | typeof ABSENT> {
  try {
    return await work;
  } catch (error) {
    if (absent.includes((error as NodeJS.ErrnoException).code ?? '')) return ABSENT;
    throw error;
  }
}

/**
 * Reads a file of at most `maxBytes`, following links. `other` for anything but a regular file: a named pipe would block its reader until
 * there is a writer, and a device may never end. Errors are those of open(2) and read(2).
 */
export async function readRegularFile(path: string, maxBytes: number): Promise<Buffer | 'other' | 'too-large'> {
  await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await handle.stat();
  if (!stats.isFile()) return 'other';
  if (stats.size > maxBytes) return 'too-large';
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(stats.size), 0, stats.size, 0);
  return buffer.subarray(0, bytesRead);
}
