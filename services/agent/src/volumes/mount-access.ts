import type { Pod, VolumeMount } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { MountSpec } from '../runtime/containers.ts';
import type { EngineInfo } from '../runtime/engine.ts';
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
  const recursive = isRecursive(mount, engine);
  // It is mounted read-only. Engines that make a mount read-only themselves take its other flags away.
  if (volume?.image !== undefined) return { access: 'read-write', propagation };
  if (recursive) return { access: 'recursively-read-only', propagation };
  const isWritable = volume !== undefined && volumeTypeOf(volume).access === 'read-write';
  const isReadOnly = mount.readOnly === true || volume?.persistentVolumeClaim?.readOnly === true;
  return { access: isWritable && !isReadOnly ? 'read-write' : 'read-only', propagation };
}

/** Kubelet's rule (pkg/kubelet/kubelet_pods.go). */
function isRecursive(mount: VolumeMount, { recursiveReadOnly }: Pick<EngineInfo, 'recursiveReadOnly'>): boolean {
  const { name, readOnly, recursiveReadOnly: mode = 'Disabled', mountPropagation = 'None' } = mount;
  if (mode === 'Disabled') return false;
  const refused = (why: string) =>
    new AgentError(
      'CreateContainerConfigError',
      `failed to resolve recursive read-only mode: volume "${name}" requested recursive read-only mode, but it is ${why}`,
    );
  if (readOnly !== true) throw refused('not read-only');
  if (mountPropagation !== 'None') throw refused(`not compatible with propagation "${mountPropagation}"`);
  if (recursiveReadOnly === 'supported') return true;
  if (mode === 'Enabled') throw refused('not supported by the runtime');
  return false;
}
