import type { Pod } from '@gantry/objects';
import type { ContainerSpec } from '../runtime/containers.ts';

/** Which process namespace the pod's containers use. Network and IPC are always the sandbox's. */
export function processNamespace({ spec }: Pod): ContainerSpec['processes'] {
  if (spec?.hostPID === true) return 'host';
  return spec?.shareProcessNamespace === true ? 'shared-with-pod' : 'own';
}
