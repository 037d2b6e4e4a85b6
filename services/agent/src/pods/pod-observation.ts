import type { PodState } from '../runtime/observer.ts';

/** What a list of all pods says of one pod, for as long as nothing of the pod may have changed since that list began. */
export class PodObservation {
  #epoch = 0;
  #handed: { readonly state: PodState | undefined } | undefined;

  /** Changes whenever what was found out about the pod may be out of date. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Lists that began before this call are not used for this pod. */
  outdate(): void {
    this.#epoch++;
    this.#handed = undefined;
  }

  /** Takes the pod's part of a list of all pods, unless it is out of date; `epoch` was read before the list began. */
  hand(state: PodState | undefined, epoch: number): 'kept' | 'outdated' {
    if (epoch !== this.#epoch) return 'outdated';
    this.#handed = { state };
    return 'kept';
  }

  /** The part of a list, once. Undefined without one: the pod is to be listed. */
  take(): { readonly state: PodState | undefined } | undefined {
    const handed = this.#handed;
    this.outdate();
    return handed;
  }
}
