import { type Clock, errorMessage, type Random } from '@gantry/base';
import { type Pod, PODS } from '@gantry/objects';
import type { ObjectReader } from '@gantry/client';
import { type ReflectedChange, Reflector } from '@gantry/controller-runtime';
import type { Logger } from '@gantry/service';

export interface PodSourceOptions {
  readonly client: ObjectReader;
  /** Absent: all nodes. */
  readonly node?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** The pods of a node as its workers see them. */
export type PodView = Pick<PodSource, 'knows' | 'get' | 'list' | 'subscribe'>;

/**
 * The pods of one node by uid, in the newest version from the watch, linearizable lists and responses to own writes. Pods that had the
 * same name one after the other are different pods here.
 */
export class PodSource {
  readonly #options: PodSourceOptions;
  readonly #pods = new Map<string, Pod>();
  readonly #listeners = new Set<(uid: string) => void>();

  constructor(options: PodSourceOptions) {
    this.#options = options;
  }

  /** Whether a pod that is missing here counts as deleted, once its absence is confirmed. */
  knows(_uid: string): boolean {
    return true;
  }

  get(uid: string): Pod | undefined {
    return this.#pods.get(uid);
  }

  list(): readonly Pod[] {
    return [...this.#pods.values()];
  }

  subscribe(listener: (uid: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Records the response to an own write, unless a newer version is known. */
  observe(pod: Pod): void {
    const uid = pod.metadata.uid ?? '';
    if (this.#pods.has(uid)) this.#put(pod);
  }

  /** Watches the node's pods until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { client, clock, random, logger } = this.#options;
    const fieldSelector = this.#selector();
    const reflector = new Reflector<Pod>({ client, resource: PODS, clock, random, fieldSelector });
    for await (const event of reflector.events(signal)) {
      switch (event.kind) {
        case 'resync':
          this.#replace(event.objects, event.resourceVersion);
          break;
        case 'changes':
          for (const change of event.changes) this.#apply(change);
          break;
        case 'failed':
          logger.debug({ phase: event.phase, reason: errorMessage(event.error) }, 'watching pods failed');
          break;
      }
    }
  }

  /** A linearizable read: afterwards, every pod here is at least as new as the start of the read. */
  async confirm(signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const list = await client.list(PODS, { fieldSelector: this.#selector(), resourceVersion: '' }, signal);
    this.#replace(list.items, list.resourceVersion);
  }

  #selector(): string {
    const { node } = this.#options;
    return node === undefined ? 'spec.nodeName!=' : `spec.nodeName=${node}`;
  }

  #replace(pods: readonly Pod[], resourceVersion: string): void {
    const listed = new Set(pods.map((pod) => pod.metadata.uid ?? ''));
    for (const pod of pods) this.#put(pod);
    for (const [uid, pod] of this.#pods) {
      if (!listed.has(uid) && !isNewer(pod.metadata.resourceVersion, resourceVersion)) this.#remove(uid);
    }
  }

  #apply({ kind, object }: ReflectedChange<Pod>): void {
    if (kind === 'gone') this.#remove(object.metadata.uid ?? '');
    else this.#put(object);
  }

  #put(pod: Pod): void {
    const uid = pod.metadata.uid ?? '';
    const known = this.#pods.get(uid);
    if (known !== undefined && !isNewer(pod.metadata.resourceVersion, known.metadata.resourceVersion)) return;
    this.#pods.set(uid, pod);
    this.#notify(uid);
  }

  #remove(uid: string): void {
    if (this.#pods.delete(uid)) this.#notify(uid);
  }

  #notify(uid: string): void {
    for (const listener of this.#listeners) listener(uid);
  }
}

/** Compares resource versions of one cluster, which are increasing decimal numbers. */
export function isNewer(version: string | undefined, than: string | undefined): boolean {
  return BigInt(version ?? '0') > BigInt(than ?? '0');
}
