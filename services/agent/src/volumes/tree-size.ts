import type { FileHandle } from 'node:fs/promises';
import { openChildren, openIfThere } from './volume-types/open-children.ts';

const BLOCK_BYTES = 512;
/** Each folder on the way stays open. What lies deeper does not count. */
const MAX_DEPTH = 128;

/**
 * The bytes that a folder takes of its disk, with all that is in it, as du(1) counts them: each file once, however many names it has,
 * and nothing of other file systems. Pods may change it meanwhile: no link is followed. 0 when it does not exist.
 */
export async function treeBytes(folder: string, signal: AbortSignal): Promise<number> {
  const root = await openIfThere(folder);
  if (root === undefined) return 0;
  try {
    const { dev } = await root.stat();
    return await bytesOf(root, { device: dev, counted: new Set(), signal }, 0);
  } finally {
    await root.close();
  }
}

interface Count {
  readonly device: number;
  /** Inodes of files with several names. */
  readonly counted: Set<number>;
  readonly signal: AbortSignal;
}

async function bytesOf(handle: FileHandle, count: Count, depth: number): Promise<number> {
  count.signal.throwIfAborted();
  const stats = await handle.stat();
  if (stats.dev !== count.device) return 0;
  if (!stats.isDirectory()) {
    if (stats.nlink > 1 && count.counted.has(stats.ino)) return 0;
    if (stats.nlink > 1) count.counted.add(stats.ino);
    return stats.blocks * BLOCK_BYTES;
  }
  let total = stats.blocks * BLOCK_BYTES;
  if (depth >= MAX_DEPTH) return total;
  for await (const child of openChildren(handle)) total += await bytesOf(child.handle, count, depth + 1);
  return total;
}
