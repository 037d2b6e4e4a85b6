import type { Pod } from '@gantry/objects';
import type { Owner } from '../runtime/labels.ts';
import type { PodState } from '../runtime/observer.ts';
import type { SandboxState } from '../runtime/sandboxes.ts';
import { graceSecondsOf } from '../spec/pod-containers.ts';
import { identityOf } from '../spec/pod-names.ts';
import type { NodeFacts } from '../spec/field-values.ts';

/**
 * What the engine has of one pod, for as long as nothing says that it may have changed: the engine reports every change, and an agent
 * knows its own. A change that nothing reports is found by the slow list of all pods.
 */
export class PodObservation {
  #epoch = 0;
  #kept: { readonly state: PodState | undefined } | undefined;

  /** Changes whenever what was found out about the pod may be out of date. */
  get epoch(): number {
    return this.#epoch;
  }

  /** What was found out; undefined when the pod is to be listed. */
  get kept(): { readonly state: PodState | undefined } | undefined {
    return this.#kept;
  }

  /** The pod may have changed: lists that began before this call are not used for it. */
  outdate(): void {
    this.#epoch++;
    this.#kept = undefined;
  }

  /** Keeps what a list says of the pod, unless it is out of date; `epoch` was read before the list began. */
  keep(state: PodState | undefined, epoch: number): 'kept' | 'outdated' {
    if (epoch !== this.#epoch) return 'outdated';
    this.#kept = { state };
    return 'kept';
  }
}

/** What the engine is known to have of a pod since a sandbox of it runs. */
export function stateWith(pod: Pod, owner: Owner, state: PodState | undefined, sandbox: SandboxState): PodState {
  const fresh = { owner, identity: identityOf(pod), graceSeconds: graceSecondsOf(pod), sandboxes: [], containers: [] };
  const known = state ?? { ...fresh, imageHolds: [] };
  return { ...known, sandboxes: [sandbox, ...known.sandboxes] };
}

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
