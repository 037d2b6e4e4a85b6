import { readFile, type FileHandle, open, opendir } from 'node:fs/promises';
import type { DiskUsage } from '../runtime/host-files.ts';
import { constants } from 'node:fs';

const BLOCK_BYTES = 512;
/** Each folder on the way stays open. What lies deeper does not count. */
const MAX_DEPTH = 128;

const NOTHING: DiskUsage = { bytes: 0, inodes: 0 };

/**
 * What a folder takes of its disk, with all that is in it, as du(1) counts bytes and inodes: each file once, however many names it has,
 * and nothing that is mounted in it. Pods may change it meanwhile: no link is followed. When `until` is aborted, what was counted by
 * then. Nothing when the folder does not exist.
 */
export async function treeUsage(folder: string, until: AbortSignal): Promise<DiskUsage> {
  const root = await openIfThere(folder);
  if (root === undefined) return NOTHING;
  try {
    return await usageOf(root, until);
  } finally {
    await root.close();
  }
}

/** The same of an open folder or file. */
export async function usageOf(root: OpenEntry, until: AbortSignal): Promise<DiskUsage> {
  const { dev } = await root.stat();
  const count: Count = { device: dev, mount: await mountOf(root.fd), links: new Set(), until, bytes: 0, inodes: 0 };
  await add(root, count, 0);
  return { bytes: count.bytes, inodes: count.inodes };
}

interface OpenEntry {
  readonly fd: number;
  stat(): Promise<{ isDirectory(): boolean; dev: number; ino: number; nlink: number; blocks: number }>;
}

interface Count {
  readonly device: number;
  readonly mount: string;
  /** Inodes of files with several names. */
  readonly links: Set<number>;
  readonly until: AbortSignal;
  bytes: number;
  inodes: number;
}

async function add(entry: OpenEntry, count: Count, depth: number): Promise<void> {
  const stats = await entry.stat();
  const isFolder = stats.isDirectory();
  if (stats.dev !== count.device) return;
  // A folder of the same disk may be mounted here.
  if (isFolder && depth > 0 && (await mountOf(entry.fd)) !== count.mount) return;
  if (!isFolder && stats.nlink > 1) {
    if (count.links.has(stats.ino)) return;
    count.links.add(stats.ino);
  }
  count.bytes += stats.blocks * BLOCK_BYTES;
  count.inodes++;
  if (!isFolder || depth >= MAX_DEPTH || count.until.aborted) return;
  for await (const child of openChildren(entry)) {
    await add(child.handle, count, depth + 1);
    if (count.until.aborted) return;
  }
}

/** The id of the mount through which a descriptor was opened (proc_pid_fdinfo(5)). */
async function mountOf(fd: number): Promise<string> {
  return /^mnt_id:\s*(\d+)$/m.exec(await readFile(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '';
}

/** Linux's O_PATH: the descriptor names the object and opens nothing, so a FIFO does not block and a device does not act. */
export const NAME_ONLY = 0o10000000 | constants.O_NOFOLLOW;

/** An entry of a folder. */
interface Child {
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
async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, NAME_ONLY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
