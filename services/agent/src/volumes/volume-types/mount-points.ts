import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod, VolumeMount } from '@gantry/objects';
import { unlessAbsent } from '../../files/if-there.ts';
import { AgentError } from '../../runtime/agent-error.ts';
import { containerPathOf } from '../../spec/container-path.ts';
import { allContainersOf } from '../../spec/pod-containers.ts';

/** The limit for one container. While it starts, each subPath mount needs an open descriptor and a bound path. */
export const MAX_MOUNTS = 1000;
/** The limit for one volume. The folders use disk space that all pods share. */
const MAX_POINTS = 128;
/** The limit of nested folders. */
const MAX_DEPTH = 16;

/**
 * The paths in a volume at which containers of its pod mount other volumes. Only the outermost mount of nested ones needs a folder
 * here. A container with too many mounts does not count: it is never created.
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
 * Creates folders for mounts inside a volume, like the kubelet, because the engine cannot create them in a volume that is mounted
 * read-only. They are created before the volume's files. Otherwise they would lie in one version of the files and disappear at the next
 * update. A file of the volume at such a path stays. AgentError 'FailedMount' for too many mount points.
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

/** Mounts inside a subPath are not at the same path of the whole volume. */
function isWhole({ name, subPath = '', subPathExpr = '' }: VolumeMount, volume: string): boolean {
  return name === volume && subPath === '' && subPathExpr === '';
}

/** Ends with a slash, so that in sorted order a folder is followed by everything below it. */
function folderPathOf({ mountPath }: VolumeMount): string {
  const path = containerPathOf(mountPath);
  return path === '/' ? path : `${path}/`;
}

function outermostBelow(root: string, sorted: readonly string[]): readonly string[] {
  const found: string[] = [];
  for (let at = firstAfter(sorted, root); sorted[at]?.startsWith(root) === true; ) {
    const path = sorted[at]?.slice(0, -1) ?? '';
    found.push(path.slice(root.length));
    // `0` is the character after the slash.
    at = firstAfter(sorted, `${path}0`);
  }
  return found;
}

/** The index of the first greater element. */
function firstAfter(sorted: readonly string[], path: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? '') > path) high = middle;
    else low = middle + 1;
  }
  return low;
}
