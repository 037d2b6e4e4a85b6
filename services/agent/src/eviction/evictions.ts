import type { EventRecorder } from '@gantry/controller-runtime';
import type { Pod } from '@gantry/objects';
import { type Eviction, evictionReason } from '../plan/pod-memory.ts';

/** Records which pods this node evicts, and of which ended pods it removes the containers. Pod workers act on it. */
export class Evictions {
  readonly #events: EventRecorder;
  readonly #evicted = new Map<string, Eviction>();
  readonly #reclaimed = new Set<string>();
  readonly #listeners = new Set<(podUid: string) => void>();

  constructor(events: EventRecorder) {
    this.#events = events;
  }

  /** Undefined for a pod that is not evicted. */
  evictionOf(podUid: string): Eviction | undefined {
    return this.#evicted.get(podUid);
  }

  /** Whether to remove the containers of an ended pod, with their logs. */
  isReclaimed(podUid: string): boolean {
    return this.#reclaimed.has(podUid);
  }

  subscribe(listener: (podUid: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  evict(pod: Pod, eviction: Eviction): void {
    const { uid = '' } = pod.metadata;
    this.#evicted.set(uid, eviction);
    this.#events.event(pod, 'Warning', evictionReason(eviction), eviction.message);
    this.#notify(uid);
  }

  /** Goes on with an eviction that a former agent has begun and reported. */
  takeOver(podUid: string, eviction: Eviction): void {
    this.#evicted.set(podUid, eviction);
  }

  reclaim(podUid: string): void {
    this.#reclaimed.add(podUid);
    this.#notify(podUid);
  }

  /** Call it when the pod has no worker any more. */
  forget(podUid: string): void {
    this.#evicted.delete(podUid);
    this.#reclaimed.delete(podUid);
  }

  #notify(podUid: string): void {
    for (const listener of this.#listeners) listener(podUid);
  }
}
