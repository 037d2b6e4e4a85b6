import type { Pod } from '@gantry/objects';
import type { PodState } from '../runtime/observer.ts';
import { type NodePressure, pressureRejection } from '../spec/node-pressure.ts';
import type { PodRejection } from '../spec/pod-rejection.ts';

/** Whether a node under pressure takes a pod: decided once, before anything of it is created. A pod that runs already is not refused later. */
export class PodAdmission {
  #verdict: PodRejection | 'admitted' | 'undecided' = 'undecided';

  /** Why the pod is refused; undefined when it is not. */
  decide(
    pod: Pod | undefined,
    state: PodState | undefined,
    pressures: readonly NodePressure[],
  ): PodRejection | undefined {
    if (pod !== undefined && this.#verdict === 'undecided') {
      // What this agent, or the one before, has reported or created was admitted.
      const isKnown = state !== undefined || pod.status?.startTime !== undefined;
      this.#verdict = (isKnown ? undefined : pressureRejection(pod, pressures)) ?? 'admitted';
    }
    return typeof this.#verdict === 'object' ? this.#verdict : undefined;
  }
}
