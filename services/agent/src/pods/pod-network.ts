import type { Pod } from '@gantry/objects';
import type { PodState } from '../runtime/observer.ts';
import type { NodeFacts } from '../spec/field-values.ts';

/** The pod's address, '' without a running sandbox. */
export function addressOf(state: PodState | undefined): string {
  return state?.sandboxes.find((sandbox) => sandbox.state === 'running')?.address ?? '';
}

/** Where probes and hooks reach a pod. */
export function networkOf(
  { spec }: Pod,
  state: PodState | undefined,
  { nodeAddress }: Pick<NodeFacts, 'nodeAddress'>,
): { readonly address: string; readonly network: 'pod' | 'host' } {
  return spec?.hostNetwork === true
    ? { address: nodeAddress, network: 'host' }
    : { address: addressOf(state), network: 'pod' };
}
