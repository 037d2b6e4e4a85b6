import type { Pod, VolumeMount, Container } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { MountSpec, DeviceSpec } from '../runtime/containers.ts';
import type { EngineInfo } from '../runtime/engine.ts';
import { volumeNamed } from '../spec/pod-containers.ts';
import { recursiveReadOnlyOf } from '../spec/recursive-read-only.ts';
import { volumeTypeOf } from './supported-volumes.ts';
import { expandAll } from '../spec/expand.ts';
import { posix } from 'node:path';
import type { VolumePlace } from './persistent-folders.ts';

/**
 * The access and propagation of a container's mount. AgentError 'CreateContainerConfigError' with the kubelet's message when the engine
 * cannot make the mount as read-only as requested.
 */
export function mountAccess(
  pod: Pod,
  mount: VolumeMount,
  engine: Pick<EngineInfo, 'recursiveReadOnly'>,
): Pick<MountSpec, 'access' | 'propagation'> {
  const { mountPropagation = 'None' } = mount;
  const propagation =
    mountPropagation === 'Bidirectional' ? 'both' : mountPropagation === 'HostToContainer' ? 'from-host' : 'none';
  const volume = volumeNamed(pod, mount.name);
  const recursive = recursiveReadOnlyOf(mount, engine.recursiveReadOnly);
  if (typeof recursive === 'object') {
    const message = `failed to resolve recursive read-only mode: ${recursive.refused}`;
    throw new AgentError('CreateContainerConfigError', message);
  }
  // An image is already mounted read-only. If the engine were asked for read-only, it would clear the other flags of the mount.
  if (volume?.image !== undefined) return { access: 'read-write', propagation };
  if (recursive === 'recursive') return { access: 'recursively-read-only', propagation };
  const isWritable = volume !== undefined && volumeTypeOf(volume).access === 'read-write';
  const { persistentVolumeClaim, nfs } = volume ?? {};
  const isReadOnly = [mount, persistentVolumeClaim, nfs].some((each) => each?.readOnly === true);
  return { access: isWritable && !isReadOnly ? 'read-write' : 'read-only', propagation };
}

/**
 * The path inside its volume that a mount shows; '' for the whole volume. AgentError 'CreateContainerConfigError' with the kubelet's
 * message for an absolute path, for `..`, and for a variable of `subPathExpr` that is missing or empty.
 */
export function subPathOf(mount: VolumeMount, environment: ReadonlyMap<string, string>): string {
  const subPath = mount.subPathExpr === undefined ? (mount.subPath ?? '') : expanded(mount.subPathExpr, environment);
  if (subPath.startsWith('/')) throw refused(`error SubPath \`${subPath}\` must not be an absolute path`);
  if (subPath.split('/').includes('..'))
    throw refused(`unable to provision SubPath \`${subPath}\`: must not contain '..'`);
  if (subPath.includes('\0')) throw refused('error SubPath must not contain a zero byte');
  return subPath;
}

/** The kernel's limit of a path, without the zero byte at its end (PATH_MAX). */
const MAX_PATH_BYTES = 4095;

function expanded(expression: string, environment: ReadonlyMap<string, string>): string {
  const { text, missing } = expandAll(expression, environment, (bytes) => {
    if (bytes > MAX_PATH_BYTES) throw refused(`subPathExpr has ${bytes} bytes; a path has at most ${MAX_PATH_BYTES}`);
  });
  if (missing.length === 0) return text;
  throw refused(`missing value for ${missing.map((name) => JSON.stringify(name)).join(', ')}`);
}

function refused(message: string): AgentError {
  return new AgentError('CreateContainerConfigError', message);
}

/** The place of a volume's claim; undefined for a volume that is not a claim or does not exist. */
type PlaceOf = (volume: string) => VolumePlace | undefined;

/**
 * The block devices of a container. AgentError 'CreateContainerConfigError' with the kubelet's message for a device that the pod does
 * not have.
 */
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
 * AgentError 'CreateContainerConfigError' with the kubelet's message when a container mounts a block device as a folder. The check of
 * the pod's volumes does not cover this: an ephemeral container is added after it.
 */
export function refuseMountedDevices({ name, volumeMounts = [] }: Container, placeOf: PlaceOf): void {
  const mount = volumeMounts.find((candidate) => placeOf(candidate.name)?.kind === 'device');
  if (mount === undefined) return;
  throw refused(`cannot find volume ${JSON.stringify(mount.name)} to mount into container ${JSON.stringify(name)}`);
}
