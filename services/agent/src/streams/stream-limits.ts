import { StatusError } from '@gantry/objects';

/** The limits of open streams of one pod, and of all pods of this node. */
const MAX_OF_POD = 128;
const MAX_OF_NODE = 1024;

/** Counts open streams. An exec, an attach and a port-forward count as one, and each connection of a port-forward as a further one. */
export class StreamLimits {
  readonly #ofPods = new Map<string, number>();
  #all = 0;

  /** Counts a stream of a pod until the result is disposed of. StatusError 'TooManyRequests' at the limit. */
  take(podUid: string): Disposable {
    const ofPod = this.#ofPods.get(podUid) ?? 0;
    if (ofPod >= MAX_OF_POD) throw tooMany(`the pod has ${ofPod} open streams, which is the most that a pod may have`);
    if (this.#all >= MAX_OF_NODE) {
      throw tooMany(`the pods of the node have ${this.#all} open streams, which is the most that they may have`);
    }
    this.#all++;
    this.#ofPods.set(podUid, ofPod + 1);
    return {
      [Symbol.dispose]: () => {
        this.#all--;
        const left = (this.#ofPods.get(podUid) ?? 1) - 1;
        if (left === 0) this.#ofPods.delete(podUid);
        else this.#ofPods.set(podUid, left);
      },
    };
  }
}

function tooMany(message: string): StatusError {
  return new StatusError('TooManyRequests', message);
}
