import type { Pod, VolumeMount } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { MountSpec } from '../runtime/containers.ts';
import type { EngineInfo } from '../runtime/engine.ts';
import { recursiveReadOnlyOf } from '../spec/recursive-read-only.ts';
import { volumeTypeOf } from './supported-volumes.ts';

/**
 * How a container may use a mount. AgentError 'CreateContainerConfigError' with kubelet's message where the engine cannot make it
 * read-only as far as is asked.
 */
export function mountAccess(
  pod: Pod,
  mount: VolumeMount,
  engine: Pick<EngineInfo, 'recursiveReadOnly'>,
): Pick<MountSpec, 'access' | 'propagation'> {
  const { mountPropagation = 'None' } = mount;
  const propagation =
    mountPropagation === 'Bidirectional' ? 'both' : mountPropagation === 'HostToContainer' ? 'from-host' : 'none';
  const volume = pod.spec?.volumes?.find((candidate) => candidate.name === mount.name);
  const recursive = recursiveReadOnlyOf(mount, engine.recursiveReadOnly);
  if (typeof recursive === 'object') {
    const message = `failed to resolve recursive read-only mode: ${recursive.refused}`;
    throw new AgentError('CreateContainerConfigError', message);
  }
  // It is mounted read-only. Engines that make a mount read-only themselves take its other flags away.
  if (volume?.image !== undefined) return { access: 'read-write', propagation };
  if (recursive === 'recursive') return { access: 'recursively-read-only', propagation };
  const isWritable = volume !== undefined && volumeTypeOf(volume).access === 'read-write';
  const { persistentVolumeClaim, nfs } = volume ?? {};
  const isReadOnly = [mount, persistentVolumeClaim, nfs].some((each) => each?.readOnly === true);
  return { access: isWritable && !isReadOnly ? 'read-write' : 'read-only', propagation };
}
