import { mkdir, readdir, readlink, rename, rm, symlink, writeFile, chmod, chown, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ABSENT, unlessAbsent } from '../../files/if-there.ts';
import { giveToGroup } from '../../files/file-owner.ts';

/** A file of a volume. */
export interface VolumeFile {
  /** A relative path without `..`; it may contain folders. */
  readonly path: string;
  readonly content: Uint8Array;
  readonly mode: number;
  /** The uid of the owner; absent: the agent's. */
  readonly user?: number | undefined;
}

const DATA = '..data';
/** Error codes for a path that does not exist, leads through a file, or is a folder. */
const NO_SUCH_FILE = ['ENOENT', 'ENOTDIR', 'EISDIR'];

/**
 * Replaces the content of `folder` by `files` atomically, like the kubelet: it fills a new hidden folder and renames a link to that
 * folder to `..data`; a link for each first path component leads through `..data`. Equal content changes nothing. `group` gets read
 * access to the files, independent of their modes.
 */
export async function writeAtomically(
  folder: string,
  files: readonly VolumeFile[],
  version: string,
  group: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const old = await currentVersion(folder);
  if (old !== undefined && (await isEqual(join(folder, old), files))) return;
  const next = `..${version}`;
  try {
    await writeFiles(join(folder, next), files);
    if (group !== undefined) await giveToGroup(join(folder, next), { group, access: 'read-only' }, 'always', signal);
  } catch (error) {
    // Remove the incomplete version: the next attempt needs its space if the file system is full.
    await rm(join(folder, next), { recursive: true, force: true });
    throw error;
  }
  const swap = join(folder, '..data_tmp');
  await rm(swap, { force: true });
  await symlink(next, swap);
  await rename(swap, join(folder, DATA));
  await linkNames(folder, new Set(files.map((file) => file.path.split('/')[0] ?? '')));
  if (old !== undefined && old !== next) await rm(join(folder, old), { recursive: true, force: true });
}

async function writeFiles(folder: string, files: readonly VolumeFile[]): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o755 });
  for (const file of files) {
    const path = join(folder, file.path);
    await mkdir(dirname(path), { recursive: true, mode: 0o755 });
    await writeFile(path, file.content);
    await chmod(path, file.mode);
    if (file.user !== undefined) await chown(path, file.user, -1);
  }
}

async function currentVersion(folder: string): Promise<string | undefined> {
  const version = await unlessAbsent(readlink(join(folder, DATA)));
  // A new folder has no link.
  return version === ABSENT ? undefined : version;
}

async function isEqual(folder: string, files: readonly VolumeFile[]): Promise<boolean> {
  const entries = await unlessAbsent(readdir(folder, { recursive: true, withFileTypes: true }));
  if (entries === ABSENT || entries.filter((entry) => entry.isFile()).length !== files.length) return false;
  for (const file of files) {
    const content = await unlessAbsent(readFile(join(folder, file.path)), NO_SUCH_FILE);
    if (content === ABSENT || !content.equals(file.content)) return false;
  }
  return true;
}

async function linkNames(folder: string, names: ReadonlySet<string>): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    // Keep folders: they belong to no version. They are created for a container's subPath that names no file.
    if (entry.isSymbolicLink() && !entry.name.startsWith('..') && !names.has(entry.name)) {
      await rm(join(folder, entry.name), { force: true });
    }
  }
  for (const name of names) {
    try {
      await symlink(join(DATA, name), join(folder, name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
