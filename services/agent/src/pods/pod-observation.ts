import type { Pod } from '@gantry/objects';
import type { Owner } from '../runtime/labels.ts';
import type { PodState } from '../runtime/observer.ts';
import type { SandboxState } from '../runtime/sandboxes.ts';
import { graceSecondsOf } from '../spec/pod-containers.ts';
import { identityOf } from '../spec/pod-names.ts';
import type { NodeFacts } from '../spec/field-values.ts';

/**
 * Caches the engine's state of one pod until something may have changed. The engine reports every change, and an agent knows its own
 * changes. A change that is not reported is found by the slow list of all pods.
 */
export class PodObservation {
  #epoch = 0;
  #kept: { readonly state: PodState | undefined } | undefined;

  /** Increases whenever the cached state may be outdated. */
  get epoch(): number {
    return this.#epoch;
  }

  /** The cached state; undefined when the pod has to be listed. */
  get kept(): { readonly state: PodState | undefined } | undefined {
    return this.#kept;
  }

  /** Call it when the pod may have changed. Lists that began before this call are not used for the pod. */
  outdate(): void {
    this.#epoch++;
    this.#kept = undefined;
  }

  /** Caches the state from a list unless it is outdated. Read `epoch` before the list begins. */
  keep(state: PodState | undefined, epoch: number): 'kept' | 'outdated' {
    if (epoch !== this.#epoch) return 'outdated';
    this.#kept = { state };
    return 'kept';
  }
}

/** The engine's state of a pod with the given running sandbox added. */
export function stateWith(pod: Pod, owner: Owner, state: PodState | undefined, sandbox: SandboxState): PodState {
  const fresh = { owner, identity: identityOf(pod), graceSeconds: graceSecondsOf(pod), sandboxes: [], containers: [] };
  const known = state ?? { ...fresh, imageHolds: [] };
  return { ...known, sandboxes: [sandbox, ...known.sandboxes] };
}

/** The pod's address; '' without a running sandbox. */
export function addressOf(state: PodState | undefined): string {
  return state?.sandboxes.find((sandbox) => sandbox.state === 'running')?.address ?? '';
}

/** The address at which probes and hooks reach a pod. */
export function networkOf(
  { spec }: Pod,
  state: PodState | undefined,
  { nodeAddress }: Pick<NodeFacts, 'nodeAddress'>,
): { readonly address: string; readonly network: 'pod' | 'host' } {
  return spec?.hostNetwork === true
    ? { address: nodeAddress, network: 'host' }
    : { address: addressOf(state), network: 'pod' };
}
