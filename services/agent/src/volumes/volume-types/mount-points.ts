import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '@gantry/objects';
import { unlessAbsent } from '../../files/if-there.ts';
import { allContainersOf } from '../../spec/pod-containers.ts';
import { containerPathOf } from '../../spec/container-path.ts';

/** The paths in a volume at which containers of its pod mount other volumes. */
export function mountPointsIn(volume: string, pod: Pod): readonly string[] {
  const found = new Set<string>();
  for (const { container } of allContainersOf(pod)) {
    const mounts = (container.volumeMounts ?? []).map((mount) => ({ mount, path: containerPathOf(mount.mountPath) }));
    for (const { mount, path: root } of mounts) {
      // What is mounted in a part of the volume is not at the same path of the whole.
      if (mount.name !== volume || (mount.subPath ?? '') !== '' || (mount.subPathExpr ?? '') !== '') continue;
      const inside = mounts.map(({ path }) => path).filter((path) => isBelow(root, path));
      // Those that lie in one another are that one's.
      const own = inside.filter((path) => !inside.some((other) => isBelow(other, path)));
      for (const path of own) found.add(path.slice(root.length).replace(/^\//, ''));
    }
  }
  return [...found];
}

/**
 * Makes the folders for what containers mount inside a volume, as kubelet does: the engine cannot make them where the volume is mounted
 * read-only. A file of the volume that stands at such a path stays.
 */
export async function makeMountPoints(folder: string, volume: string, pod: Pod): Promise<void> {
  for (const path of mountPointsIn(volume, pod)) {
    await unlessAbsent(mkdir(join(folder, path), { recursive: true, mode: 0o755 }), STANDS);
  }
}

const STANDS = ['EEXIST', 'ENOTDIR'];

function isBelow(folder: string, path: string): boolean {
  return path !== folder && path.startsWith(folder === '/' ? folder : `${folder}/`);
}
