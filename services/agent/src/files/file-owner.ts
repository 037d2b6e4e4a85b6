import { chmod, chown, type FileHandle, lchown, open } from 'node:fs/promises';
import { AgentError } from '../runtime/agent-error.ts';
import type { GroupAccess, GroupChange } from '../runtime/host-files.ts';
import { NAME_ONLY, openChildren } from './tree-usage.ts';

const SET_GROUP_ID = 0o2000;
const FOLDER_BITS = 0o110 | SET_GROUP_ID;
const GROUP_BITS: Readonly<Record<GroupAccess['access'], number>> = { 'read-write': 0o660, 'read-only': 0o440 };
/** The limit of nested folders. Each folder on the path stays open, and a pod must not use up the agent's descriptors. */
const MAX_DEPTH = 128;

/** The mode of a file or folder with group access (pkg/volume/volume_linux.go). */
export function groupMode(mode: number, kind: 'folder' | 'file', access: GroupAccess['access']): number {
  return (mode & 0o7777) | GROUP_BITS[access] | (kind === 'folder' ? FOLDER_BITS : 0);
}

/**
 * Gives a folder and its content to a group, like the kubelet for `fsGroup`. The root comes last, so that an interrupted change is
 * detected and repeated from the start. Pods may change the content meanwhile, so links are not followed. AgentError 'FailedMount' when
 * folders are nested too deeply.
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
    await giveTree(root, { ...to, signal }, 0);
  } finally {
    await root.close();
  }
}

async function giveTree(
  folder: FileHandle,
  to: GroupAccess & { readonly signal: AbortSignal },
  depth: number,
): Promise<void> {
  if (depth > MAX_DEPTH) throw new AgentError('FailedMount', `the volume has more than ${MAX_DEPTH} levels of folders`);
  for await (const { path, handle } of openChildren(folder)) {
    to.signal.throwIfAborted();
    const stats = await handle.stat();
    // Change the group of the link itself; the mode of a link has no effect.
    if (stats.isSymbolicLink()) await lchown(path, stats.uid, to.group);
    else if (stats.isDirectory()) await giveTree(handle, to, depth + 1);
    else await give(handle, 'file', to);
  }
  await give(folder, 'folder', to);
}

/** Sets the mode after the group, because changing the group clears the set-user-id and set-group-id bits. */
async function give(handle: FileHandle, kind: 'folder' | 'file', { group, access }: GroupAccess): Promise<void> {
  const { uid, mode } = await handle.stat();
  const path = `/proc/self/fd/${handle.fd}`;
  await chown(path, uid, group);
  await chmod(path, groupMode(mode, kind, access));
}
