import type { PersistentVolume, Pod, Volume } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import { allContainersOf } from '../spec/pod-containers.ts';

/** AgentError 'FailedMount' with kubelet's message for a volume that containers use otherwise than its mode says. */
export function checkVolumeMode(pod: Pod, { name }: Volume, { spec }: PersistentVolume): void {
  const mode = spec?.volumeMode ?? 'Filesystem';
  const containers = allContainersOf(pod).map(({ container }) => container);
  const isUsedAs = (field: 'volumeMounts' | 'volumeDevices') =>
    containers.some((container) => container[field]?.some((use) => use.name === name));
  const wrong = mode === 'Block' ? 'volumeMounts' : 'volumeDevices';
  if (isUsedAs(wrong))
    throw new AgentError('FailedMount', `volume ${name} has volumeMode ${mode}, but is specified in ${wrong}`);
}
