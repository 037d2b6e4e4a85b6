import type { Container, PersistentVolume, Pod, Volume } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import { allContainersOf } from '../spec/pod-containers.ts';

/**
 * AgentError 'FailedMount' for a volume that is a block device, and with kubelet's message for one that containers use otherwise than its
 * mode says.
 */
export function checkVolumeMode(pod: Pod, { name }: Volume, { spec }: PersistentVolume): void {
  const mode = spec?.volumeMode ?? 'Filesystem';
  const containers = allContainersOf(pod).map(({ container }) => container);
  const isUsedAs = (field: 'volumeMounts' | 'volumeDevices') =>
    containers.some((container) => container[field]?.some((use) => use.name === name));
  const wrong = mode === 'Block' ? 'volumeMounts' : 'volumeDevices';
  if (isUsedAs(wrong))
    throw new AgentError('FailedMount', `volume ${name} has volumeMode ${mode}, but is specified in ${wrong}`);
  if (mode === 'Block') throw new AgentError('FailedMount', 'volumes of mode Block are not supported by this node');
}

/**
 * AgentError 'CreateContainerConfigError' with kubelet's message for a container with a device. An ephemeral container comes when the
 * volumes of its pod have been checked.
 */
export function refuseDevices({ name, volumeDevices }: Container): void {
  const [device] = volumeDevices ?? [];
  if (device === undefined) return;
  const message = `cannot find volume ${JSON.stringify(device.name)} to pass into container ${JSON.stringify(name)}`;
  throw new AgentError('CreateContainerConfigError', message);
}
