import type { Pod, VolumeMount } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { VolumePlace } from './persistent-folders.ts';
import { pathOnHost } from './volume-types/host-path.ts';
import { treeUsage } from '../files/tree-usage.ts';
import type { PodUsage } from '../spec/local-storage.ts';

/** The path of the engine's host that the volume is, by the place of the claim that it has; undefined for a volume of the agent. */
export function hostPathOf(pod: Pod, mount: VolumeMount, claimed: VolumePlace | undefined): string | undefined {
  if (claimed?.kind === 'host') return claimed.path;
  const hostPath = pod.spec?.volumes?.find(({ name }) => name === mount.name)?.hostPath;
  return hostPath === undefined ? undefined : pathOnHost(hostPath);
}

/** The server that the volume is on, whatever names it; undefined for one of this host. */
export function serverOf(pod: Pod, { name }: VolumeMount, claimed: VolumePlace | undefined): string | undefined {
  if (claimed?.kind === 'nfs') return claimed.source.server;
  return pod.spec?.volumes?.find((volume) => volume.name === name)?.nfs?.server;
}

/** `name`, or AgentError 'FailedMount' when it is not one component of a path: with another the wrong folder would be removed. */
export function component(name: string): string {
  if (name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name)) return name;
  throw new AgentError('FailedMount', `${JSON.stringify(name)} cannot be the name of a folder`);
}

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
