import type { Clock, Instant } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import { activeDeadline } from '../plan/plan.ts';

/** Calls `onOver` at a pod's deadline, even during a step of its worker: a pull or a hook may take longer than the deadline. */
export class PodDeadline {
  readonly #clock: Clock;
  readonly #onOver: () => void;
  #at: Instant | undefined;
  #cancel: () => void = () => undefined;

  constructor(clock: Clock, onOver: () => void) {
    this.#clock = clock;
    this.#onOver = onOver;
  }

  /** Follows the pod's current deadline. Returns whether it has passed. */
  watch(pod: Pod | undefined): 'within' | 'over' {
    const deadline = pod === undefined ? undefined : activeDeadline(pod);
    const now = this.#clock.now();
    if (deadline !== this.#at) {
      this.cancel();
      this.#at = deadline;
      if (deadline !== undefined) this.#cancel = this.#clock.setTimer(deadline - now, this.#onOver);
    }
    return deadline !== undefined && now >= deadline ? 'over' : 'within';
  }

  cancel(): void {
    this.#cancel();
    this.#cancel = () => undefined;
  }
}
