import type { Pod } from '@gantry/objects';
import type { ContainerSpec } from '../runtime/containers.ts';

/** Which process namespace a container uses: with `targetId` that container's. Network and IPC are always the sandbox's. */
export function processNamespace({ spec }: Pod, targetId: string | undefined): ContainerSpec['processes'] {
  if (targetId !== undefined && spec?.hostPID !== true && spec?.shareProcessNamespace !== true) {
    return { containerId: targetId };
  }
  if (spec?.hostPID === true) return 'host';
  return spec?.shareProcessNamespace === true ? 'shared-with-pod' : 'own';
}
