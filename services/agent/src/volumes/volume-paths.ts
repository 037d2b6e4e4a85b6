import type { Pod, VolumeMount } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { VolumePlace } from './persistent-folders.ts';
import { subPathOf } from './sub-path.ts';
import { pathOnHost } from './volume-types/host-path.ts';

/**
 * The path on the host that the engine mounts by itself, by the place of the claim that the volume has; undefined for a volume of the
 * agent. AgentError 'CreateContainerConfigError' for a part of it: a pod that writes to the folder could lead the engine to any other path.
 */
export function hostPathOf(
  pod: Pod,
  mount: VolumeMount,
  claimed: VolumePlace | undefined,
  environment: ReadonlyMap<string, string>,
): string | undefined {
  const hostPath = pod.spec?.volumes?.find(({ name }) => name === mount.name)?.hostPath;
  const path = hostPath === undefined ? undefined : pathOnHost(hostPath);
  const found = claimed?.kind === 'host' ? claimed.path : path;
  if (found === undefined || subPathOf(mount, environment) === '') return found;
  const message = `volumeMount "${mount.name}" has a subPath: this node mounts what lies on the host (hostPath, local) only as a whole`;
  throw new AgentError('CreateContainerConfigError', message);
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
