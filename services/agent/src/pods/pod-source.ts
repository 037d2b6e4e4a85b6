import { backoffMs, type Clock, errorMessage, type Random, sleep } from '@gantry/base';
import type { Pod, ResourceRef } from '@gantry/api';
import type { ObjectReader, WatchEvent } from '@gantry/client';
import type { Logger } from '@gantry/service';

export const PODS: ResourceRef = { group: '', version: 'v1', resource: 'pods' };

export interface PodSourceOptions {
  readonly client: ObjectReader;
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const RETRY = { initialMs: 100, maxMs: 2000 };

/**
 * The pods of one node, by uid, as new as anything seen: watch, linearizable lists and answers to own writes. Pods that
 * took another's name are other pods here.
 */
export class PodSource {
  readonly #options: PodSourceOptions;
  readonly #pods = new Map<string, Pod>();
  readonly #listeners = new Set<(uid: string) => void>();

  constructor(options: PodSourceOptions) {
    this.#options = options;
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

  /** Takes the answer to an own write; one that is older than what is known changes nothing. */
  observe(pod: Pod): void {
    const uid = pod.metadata.uid ?? '';
    if (this.#pods.has(uid)) this.#put(pod);
  }

  /** Follows the node's pods until `signal` is aborted; lost watches are opened again. */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      try {
        const version = await this.confirm(signal);
        failures = 0;
        await this.#follow(version, signal);
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        this.#options.logger.debug({ reason: errorMessage(error) }, 'watch of pods ended');
        await sleep(this.#options.clock, backoffMs(RETRY, failures, this.#options.random), signal).catch(() => undefined);
      }
    }
  }

  /** A linearizable read: afterwards nothing here is older than its start. */
  async confirm(signal: AbortSignal): Promise<string> {
    const { client, node } = this.#options;
    const list = await client.list<Pod>(PODS, { fieldSelector: `spec.nodeName=${node}`, resourceVersion: '' }, signal);
    const listed = new Set(list.items.map((pod) => pod.metadata.uid ?? ''));
    for (const pod of list.items) this.#put(pod);
    for (const [uid, pod] of this.#pods) {
      if (!listed.has(uid) && !isNewer(pod.metadata.resourceVersion, list.resourceVersion)) this.#remove(uid);
    }
    return list.resourceVersion;
  }

  async #follow(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const { client, node } = this.#options;
    const options = { fieldSelector: `spec.nodeName=${node}`, resourceVersion };
    for await (const events of client.watch<Pod>(PODS, options, signal)) for (const event of events) this.#apply(event);
  }

  #apply(event: WatchEvent<Pod>): void {
    if (event.type === 'BOOKMARK') return;
    if (event.type === 'DELETED') this.#remove(event.object.metadata.uid ?? '');
    else this.#put(event.object);
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

/** Compares resource versions of one cluster: decimal numbers that only grow. */
export function isNewer(version: string | undefined, than: string | undefined): boolean {
  return BigInt(version ?? '0') > BigInt(than ?? '0');
}
