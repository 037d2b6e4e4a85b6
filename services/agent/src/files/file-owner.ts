import { chmod, chown, type FileHandle, lchown, open, stat } from 'node:fs/promises';
import type { GroupAccess, GroupChange } from '../runtime/host-files.ts';
import { NAME_ONLY, openIfThere, type OpenFolder, walkTree } from './walk-tree.ts';

const SET_GROUP_ID = 0o2000;
const FOLDER_BITS = 0o110 | SET_GROUP_ID;
const GROUP_BITS: Readonly<Record<GroupAccess['access'], number>> = { 'read-write': 0o660, 'read-only': 0o440 };

/** The mode of a file or folder with group access (pkg/volume/volume_linux.go). */
export function groupMode(mode: number, kind: 'folder' | 'file', access: GroupAccess['access']): number {
  return (mode & 0o7777) | GROUP_BITS[access] | (kind === 'folder' ? FOLDER_BITS : 0);
}

/**
 * Gives a folder and its content to a group, like the kubelet for `fsGroup`. The root comes last, so that an interrupted change is
 * detected and repeated from the start. Pods may change the content meanwhile, so links are not followed.
 */
export async function giveToGroup(
  folder: string,
  to: GroupAccess,
  change: GroupChange,
  signal: AbortSignal,
): Promise<void> {
  const root = await open(folder, NAME_ONLY);
  try {
    const { gid, mode } = await root.stat();
    const isGiven = gid === to.group && groupMode(mode, 'folder', to.access) === (mode & 0o7777);
    if (change === 'on-root-mismatch' && isGiven) return;
    await giveTree(root, to, signal);
  } finally {
    await root.close();
  }
}

async function giveTree(root: FileHandle, to: GroupAccess, signal: AbortSignal): Promise<void> {
  const file = async (path: Buffer) => {
    const handle = await openIfThere(path);
    if (handle === undefined) return;
    try {
      const stats = await handle.stat();
      // Change the group of the link itself; the mode of a link has no effect.
      if (stats.isSymbolicLink()) await lchown(path, stats.uid, to.group);
      else if (!stats.isDirectory()) await give(handle, 'file', to);
    } finally {
      await handle.close();
    }
  };
  const left = async (folder: OpenFolder) => await give(folder, 'folder', to);
  await walkTree(root, { file, folder: async () => 'enter', left }, signal);
  signal.throwIfAborted();
  await give(root, 'folder', to);
}

/** Sets the mode after the group, because changing the group clears the set-user-id and set-group-id bits. */
async function give({ fd }: OpenFolder, kind: 'folder' | 'file', { group, access }: GroupAccess): Promise<void> {
  const path = `/proc/self/fd/${fd}`;
  const { uid, mode } = await stat(path);
  await chown(path, uid, group);
  await chmod(path, groupMode(mode, kind, access));
}
