import { readFileSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import type { DiskUsage } from '../runtime/host-files.ts';
import { ABSENT, unlessAbsent } from './if-there.ts';
import { openIfThere, type OpenFolder, walkTree } from './walk-tree.ts';

const BLOCK_BYTES = 512;

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
  const rootStats = await root.stat();
  const count = new Count();
  count.add(rootStats);
  if (!rootStats.isDirectory()) return count.total;
  const mount = mountOf(root);
  const isOfDisk = ({ dev }: CountedStats) => dev === rootStats.dev;
  const file = async (path: Buffer) => {
    const stats = await unlessAbsent(lstat(path));
    if (stats !== ABSENT && isOfDisk(stats)) count.add(stats);
  };
  const folder = async (entry: OpenFolder, stats: CountedStats) => {
    // A nested mount may be of the same disk, so compare the mounts.
    if (!isOfDisk(stats) || mountOf(entry) !== mount) return 'skip';
    count.add(stats);
    return 'enter';
  };
  await walkTree(root, { file, folder }, until);
  return count.total;
}

interface CountedStats {
  isDirectory(): boolean;
  readonly dev: number;
  readonly nlink: number;
  readonly blocks: number;
}

interface OpenEntry extends OpenFolder {
  stat(): Promise<CountedStats>;
}

/**
 * Counts files by their names. All names of a file lie in the tree, since the kernel links nothing beyond a mount; so each name counts as
 * its part of the file, and the files with several names need not be remembered.
 */
class Count {
  #bytes = 0;
  #inodes = 0;

  add(stats: CountedStats): void {
    const names = stats.isDirectory() ? 1 : Math.max(1, stats.nlink);
    this.#bytes += (stats.blocks * BLOCK_BYTES) / names;
    this.#inodes += 1 / names;
  }

  get total(): DiskUsage {
    return { bytes: Math.round(this.#bytes), inodes: Math.round(this.#inodes) };
  }
}

/**
 * The id of the mount through which a descriptor was opened (proc_pid_fdinfo(5)). The kernel answers from memory, in a tenth of the time
 * that a thread for it would take.
 */
function mountOf({ fd }: OpenFolder): string {
  return /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '';
}
