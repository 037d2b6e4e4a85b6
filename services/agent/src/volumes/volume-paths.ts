import type { Pod, VolumeMount } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import { volumeNamed } from '../spec/pod-containers.ts';
import type { VolumePlace } from './persistent-folders.ts';
import { pathOnHost } from './volume-types/host-path.ts';
import { treeUsage } from '../files/tree-usage.ts';
import type { PodUsage } from '../spec/local-storage.ts';

/** The path of a volume on the engine's host; undefined for a volume of the agent. `claimed` is the place of the volume's claim. */
export function hostPathOf(pod: Pod, mount: VolumeMount, claimed: VolumePlace | undefined): string | undefined {
  if (claimed?.kind === 'host') return claimed.path;
  const hostPath = volumeNamed(pod, mount.name)?.hostPath;
  return hostPath === undefined ? undefined : pathOnHost(hostPath);
}

/** The NFS server of a volume, from its claim or its own source; undefined for a volume on this host. */
export function serverOf(pod: Pod, { name }: VolumeMount, claimed: VolumePlace | undefined): string | undefined {
  if (claimed?.kind === 'nfs') return claimed.source.server;
  return volumeNamed(pod, name)?.nfs?.server;
}

/** Returns `name`. AgentError 'FailedMount' when it is not a single path component; otherwise the wrong folder could be removed. */
export function component(name: string): string {
  if (name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name)) return name;
  throw new AgentError('FailedMount', `${JSON.stringify(name)} cannot be the name of a folder`);
}

/**
 * The disk usage of a pod's emptyDirs and of the agent's files for its containers. If `until` is aborted, returns what was counted so
 * far.
 */
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
