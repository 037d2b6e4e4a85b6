import { posix } from 'node:path';
import type { Container, Pod } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { DeviceSpec } from '../runtime/containers.ts';
import type { VolumePlace } from './persistent-folders.ts';

/** The place of the claim that a volume of the pod has; undefined for a volume that is no claim or is not there. */
export type PlaceOf = (volume: string) => VolumePlace | undefined;

/** The block devices of a container. AgentError 'CreateContainerConfigError' with kubelet's message for one that the pod does not have. */
export function containerDevices(pod: Pod, container: Container, placeOf: PlaceOf): readonly DeviceSpec[] {
  const volumes = new Map((pod.spec?.volumes ?? []).map((volume) => [volume.name, volume]));
  return (container.volumeDevices ?? []).map(({ name, devicePath }) => {
    if (!posix.isAbsolute(devicePath)) throw refused(`error DevicePath \`${devicePath}\` must be an absolute path`);
    const place = placeOf(name);
    if (place?.kind !== 'device') {
      throw refused(
        `cannot find volume ${JSON.stringify(name)} to pass into container ${JSON.stringify(container.name)}`,
      );
    }
    const isReadOnly = volumes.get(name)?.persistentVolumeClaim?.readOnly === true;
    return { hostPath: place.path, containerPath: devicePath, access: isReadOnly ? 'read-only' : 'read-write' };
  });
}

/**
 * AgentError 'CreateContainerConfigError' with kubelet's message for a container that mounts a block device: an ephemeral container comes
 * when the volumes of its pod have been checked.
 */
export function refuseMountedDevices({ name, volumeMounts = [] }: Container, placeOf: PlaceOf): void {
  const mount = volumeMounts.find((candidate) => placeOf(candidate.name)?.kind === 'device');
  if (mount === undefined) return;
  throw refused(`cannot find volume ${JSON.stringify(mount.name)} to mount into container ${JSON.stringify(name)}`);
}

function refused(message: string): AgentError {
  return new AgentError('CreateContainerConfigError', message);
}
