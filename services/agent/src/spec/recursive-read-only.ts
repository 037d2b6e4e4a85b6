import type { VolumeMount } from '@gantry/objects';
import type { EngineInfo } from '../runtime/engine.ts';

/** Whether a mount is recursively read-only, or why that is refused (kubelet's `resolveRecursiveReadOnly`). */
export type RecursiveReadOnly = 'recursive' | 'not-recursive' | { readonly refused: string };

/** Applies the kubelet's rule to one mount of a container. */
export function recursiveReadOnlyOf(mount: VolumeMount, support: EngineInfo['recursiveReadOnly']): RecursiveReadOnly {
  const { name, readOnly, recursiveReadOnly: mode = 'Disabled', mountPropagation = 'None' } = mount;
  if (mode === 'Disabled') return 'not-recursive';
  const refused = (why: string) => ({
    refused: `volume "${name}" requested recursive read-only mode, but it is ${why}`,
  });
  if (readOnly !== true) return refused('not read-only');
  if (mountPropagation !== 'None') return refused(`not compatible with propagation "${mountPropagation}"`);
  if (support === 'supported') return 'recursive';
  return mode === 'Enabled' ? refused('not supported by the runtime') : 'not-recursive';
}
