import { chmod, chown, type FileHandle, lchown, open } from 'node:fs/promises';
import { AgentError } from '../runtime/agent-error.ts';
import type { GroupAccess, GroupChange } from '../runtime/host-files.ts';
import { NAME_ONLY, openChildren } from './tree-usage.ts';

const SET_GROUP_ID = 0o2000;
const FOLDER_BITS = 0o110 | SET_GROUP_ID;
const GROUP_BITS: Readonly<Record<GroupAccess['access'], number>> = { 'read-write': 0o660, 'read-only': 0o440 };
/** Each folder on the way stays open, so a pod could use up the agent's descriptors. */
const MAX_DEPTH = 128;

/** The mode of a file or folder that is given to a group (pkg/volume/volume_linux.go). */
export function groupMode(mode: number, kind: 'folder' | 'file', access: GroupAccess['access']): number {
  return (mode & 0o7777) | GROUP_BITS[access] | (kind === 'folder' ? FOLDER_BITS : 0);
}

/**
 * Gives a folder and everything in it to a group, as kubelet does for `fsGroup`: the root last, so that an interrupted change is
 * found again. Pods may change what lies in it meanwhile: no link is followed. AgentError 'FailedMount' where it is nested too
 * deeply; one that is aborted goes on from the start the next time.
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
    // A link's own group; the mode of a link means nothing.
    if (stats.isSymbolicLink()) await lchown(path, stats.uid, to.group);
    else if (stats.isDirectory()) await giveTree(handle, to, depth + 1);
    else await give(handle, 'file', to);
  }
  await give(folder, 'folder', to);
}

/** The mode is set after the group: a change of the group takes away what a program may do as its owner. */
async function give(handle: FileHandle, kind: 'folder' | 'file', { group, access }: GroupAccess): Promise<void> {
  const { uid, mode } = await handle.stat();
  const path = `/proc/self/fd/${handle.fd}`;
  await chown(path, uid, group);
  await chmod(path, groupMode(mode, kind, access));
}
