import type { Instant } from '@gantry/base';
import { ignoreNotFound } from '@gantry/client';
import { type ControllerContext, findObject } from '@gantry/controller-runtime';
import { EVENTS, keyOf, type PersistentVolume, type Pod, PODS } from '@gantry/objects';
import { RECYCLER_NAMESPACE, type Recycler, recyclerName } from './recycle.ts';

/** Milliseconds until recycling is retried; Kubernetes retries in its next periodic sync. */
export const RETRY_MS = 15_000;
/** The maximum number of Events of one recycler pod that are repeated on the volume. */
const MAX_EVENTS = 100;

interface Attempt {
  /** The uid of the volume, because another volume may get its name. */
  readonly volume: string | undefined;
  /** The uid of the pod that this leader has created. */
  readonly pod?: string;
  readonly nextAt?: Instant;
  /** Uids of Events of the pod that were repeated on the volume. */
  readonly reported: Set<string>;
}

/** The recycler pods that a term knows, by the volume's name. */
export class Recyclers {
  readonly #attempts = new Map<string, Attempt>();

  clear(): void {
    this.#attempts.clear();
  }

  /** Observes the recycler pod of a released volume. The store is read before the pod counts as gone, because the cache may be behind. */
  async observe(volume: PersistentVolume, context: ControllerContext, signal: AbortSignal): Promise<Recycler> {
    const attempt = this.#attemptOf(volume);
    const { nextAt } = attempt ?? {};
    if (nextAt !== undefined && context.clock.now() < nextAt) return { kind: 'failed', nextAt };
    const key = { namespace: RECYCLER_NAMESPACE, name: recyclerName(volume) };
    const pod = await findObject(PODS, key, context, signal);
    if (pod !== undefined) return { kind: pod.metadata.uid === attempt?.pod ? 'own' : 'unknown', pod };
    return attempt?.pod === undefined ? { kind: 'none' } : { kind: 'deleted' };
  }

  async create(volume: PersistentVolume, pod: Pod, { client }: ControllerContext, signal: AbortSignal): Promise<void> {
    const { uid } = (await client.create(PODS, pod, signal)).metadata;
    this.#begin(volume, uid === undefined ? {} : { pod: uid });
  }

  async delete(pod: Pod, { client }: ControllerContext, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    await ignoreNotFound(client.delete(PODS, keyOf(pod), uid === undefined ? {} : { uid }, signal));
  }

  delay(volume: PersistentVolume, now: Instant): void {
    this.#begin(volume, { nextAt: now + RETRY_MS });
  }

  forget(volumeName: string): void {
    this.#attempts.delete(volumeName);
  }

  /** Repeats the Events of the recycler pod on the volume, each once: they show why the pod does not start. */
  async report(
    volume: PersistentVolume,
    pod: Pod,
    { client, events }: ControllerContext,
    signal: AbortSignal,
  ): Promise<void> {
    const reported = this.#attemptOf(volume)?.reported ?? new Set();
    const { namespace = '', name = '', uid = '' } = pod.metadata;
    const fieldSelector = `involvedObject.name=${name},involvedObject.uid=${uid}`;
    const { items } = await client.list(EVENTS, { namespace, fieldSelector, limit: MAX_EVENTS }, signal);
    for (const { metadata, type, message } of items) {
      if (reported.has(metadata.uid ?? '')) continue;
      reported.add(metadata.uid ?? '');
      events.event(volume, type === 'Warning' ? 'Warning' : 'Normal', 'RecyclerPod', `Recycler pod: ${message ?? ''}`);
    }
  }

  #attemptOf({ metadata: { name = '', uid } }: PersistentVolume): Attempt | undefined {
    const attempt = this.#attempts.get(name);
    return attempt?.volume === uid ? attempt : undefined;
  }

  #begin({ metadata: { name = '', uid } }: PersistentVolume, attempt: Pick<Attempt, 'pod' | 'nextAt'>): void {
    this.#attempts.set(name, { volume: uid, reported: new Set(), ...attempt });
  }
}
