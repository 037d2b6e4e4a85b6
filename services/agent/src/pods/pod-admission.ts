import type { Pod } from '@gantry/objects';
import type { PodState } from '../runtime/observer.ts';
import { hostPortRejection } from '../spec/host-ports.ts';
import { type NodePressure, pressureRejection } from '../spec/node-pressure.ts';
import type { PodRejection } from '../spec/pod-rejection.ts';

/** What an admission looks at beside the pod. */
export interface Occupancy {
  /** What the node is short of. */
  readonly pressures: readonly NodePressure[];
  /** The pods of the node. */
  readonly pods: () => readonly Pod[];
}

/** Whether the node takes a pod: decided once, before anything of it is created. A pod that runs already is not refused later. */
export class PodAdmission {
  #verdict: PodRejection | 'admitted' | 'undecided' = 'undecided';

  /** Why the pod is refused; undefined when it is not. */
  decide(pod: Pod | undefined, state: PodState | undefined, { pressures, pods }: Occupancy): PodRejection | undefined {
    if (pod !== undefined && this.#verdict === 'undecided') {
      // What this agent, or the one before, has reported or created was admitted.
      const isKnown = state !== undefined || pod.status?.startTime !== undefined;
      const rejection = isKnown ? undefined : (pressureRejection(pod, pressures) ?? hostPortRejection(pod, pods()));
      this.#verdict = rejection ?? 'admitted';
    }
    return typeof this.#verdict === 'object' ? this.#verdict : undefined;
  }
}
