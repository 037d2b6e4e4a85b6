import { treeUsage } from '../files/tree-usage.ts';
import type { PodUsage } from '../spec/local-storage.ts';

/** What the emptyDirs of a pod, and the files that the agent gives its containers, take of the disk. Ends early with `until`. */
export async function diskUsage(
  emptyDirFolders: readonly { readonly name: string; readonly path: string }[],
  files: readonly string[],
  until: AbortSignal,
): Promise<Omit<PodUsage, 'containers'>> {
  const emptyDirs = new Map<string, number>();
  let [fileBytes, inodes] = [0, 0];
  for (const { name, path } of emptyDirFolders) {
    const used = await treeUsage(path, until);
    emptyDirs.set(name, used.bytes);
    inodes += used.inodes;
  }
  for (const path of files) {
    const used = await treeUsage(path, until);
    fileBytes += used.bytes;
    inodes += used.inodes;
  }
  return { emptyDirs, files: fileBytes, inodes };
}
