import { readFile, type FileHandle, open, opendir } from 'node:fs/promises';
import type { DiskUsage } from '../runtime/host-files.ts';
import { constants } from 'node:fs';

const BLOCK_BYTES = 512;
/** Each folder on the path stays open. Deeper files are not counted. */
const MAX_DEPTH = 128;

const NOTHING: DiskUsage = { bytes: 0, inodes: 0 };

/**
 * The disk usage of a folder and its content, counted like du(1) in bytes and inodes: each file once, even with several names, and
 * without nested mounts. Pods may change the content meanwhile, so links are not followed. If `until` is aborted, returns what was
 * counted so far. 0 for a folder that does not exist.
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

/** Like `treeUsage`, for an open folder or file. */
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
  /** Inodes that were counted and have several names. */
  readonly links: Set<number>;
  readonly until: AbortSignal;
  bytes: number;
  inodes: number;
}

async function add(entry: OpenEntry, count: Count, depth: number): Promise<void> {
  const stats = await entry.stat();
  const isFolder = stats.isDirectory();
  if (stats.dev !== count.device) return;
  // A nested mount may be of the same disk, so compare the mounts.
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

/** Linux's O_PATH: the descriptor names the file without opening it. So a FIFO does not block, and a device has no side effects. */
export const NAME_ONLY = 0o10000000 | constants.O_NOFOLLOW;

/** An entry of a folder. */
interface Child {
  /** A path by the folder's descriptor, which stays valid if the folder is moved. */
  readonly path: string;
  /** Closed when the next entry is requested. */
  readonly handle: FileHandle;
}

/**
 * The entries of an open folder. They are streamed, because a pod may have created tens of millions of them. Links are not followed;
 * entries that are removed meanwhile are skipped.
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

/** A descriptor (O_PATH) of the file at a path; undefined when there is none. */
async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, NAME_ONLY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
