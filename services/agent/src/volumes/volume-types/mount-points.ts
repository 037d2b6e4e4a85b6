import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod, VolumeMount } from '@gantry/objects';
import { unlessAbsent } from '../../files/if-there.ts';
import { AgentError } from '../../runtime/agent-error.ts';
import { containerPathOf } from '../../spec/container-path.ts';
import { allContainersOf } from '../../spec/pod-containers.ts';

/** Of one container. Each mount of a part of a volume costs an open descriptor and a bound path while its container starts. */
export const MAX_MOUNTS = 1000;
/** In one volume. The folders take room that all pods share. */
const MAX_POINTS = 128;
/** Folders on the way to one. */
const MAX_DEPTH = 16;

/**
 * The paths in a volume at which containers of its pod mount other volumes. A mount below another one needs no folder here. A container
 * of too many mounts has none: it is never made.
 */
export function mountPointsIn(volume: string, pod: Pod): readonly string[] {
  const found = new Set<string>();
  for (const { container } of allContainersOf(pod)) {
    const { volumeMounts: mounts = [] } = container;
    const roots = mounts.filter((mount) => isWhole(mount, volume)).map(folderPathOf);
    if (roots.length === 0 || mounts.length > MAX_MOUNTS) continue;
    const paths = mounts.map(folderPathOf).toSorted();
    for (const root of roots) for (const path of outermostBelow(root, paths)) found.add(path);
  }
  return [...found];
}

/**
 * Makes the folders for what containers mount inside a volume, as kubelet does: the engine cannot make them where the volume is mounted
 * read-only. They come before the volume's files, so that none is in a version of these, which goes with its mount points at the next
 * change. A file of the volume that stands at such a path stays. AgentError 'FailedMount' for too many of them.
 */
export async function makeMountPoints(folder: string, volume: string, pod: Pod): Promise<void> {
  const points = mountPointsIn(volume, pod);
  if (points.length > MAX_POINTS)
    throw new AgentError(
      'FailedMount',
      `${points.length} volumes are mounted inside; this node mounts at most ${MAX_POINTS}`,
    );
  for (const path of points) {
    if (path.split('/').length > MAX_DEPTH)
      throw new AgentError('FailedMount', `a volume is mounted inside more than ${MAX_DEPTH} folders deep`);
    await unlessAbsent(mkdir(join(folder, path), { recursive: true, mode: 0o755 }), STANDS);
  }
}

const STANDS = ['EEXIST', 'ENOTDIR'];

/** What is mounted in a part of a volume is not at the same path of the whole. */
function isWhole({ name, subPath = '', subPathExpr = '' }: VolumeMount, volume: string): boolean {
  return name === volume && subPath === '' && subPathExpr === '';
}

/** With a slash at its end, so that in order all that lies below a folder follows it. */
function folderPathOf({ mountPath }: VolumeMount): string {
  const path = containerPathOf(mountPath);
  return path === '/' ? path : `${path}/`;
}

function outermostBelow(root: string, sorted: readonly string[]): readonly string[] {
  const found: string[] = [];
  for (let at = firstAfter(sorted, root); sorted[at]?.startsWith(root) === true; ) {
    const path = sorted[at]?.slice(0, -1) ?? '';
    found.push(path.slice(root.length));
    // The character that follows the slash.
    at = firstAfter(sorted, `${path}0`);
  }
  return found;
}

/** The index of the first one that is greater. */
function firstAfter(sorted: readonly string[], path: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? '') > path) high = middle;
    else low = middle + 1;
  }
  return low;
}
