import type { Pod } from '@gantry/objects';
import type { PodSource, PodView } from './pod-source.ts';

/** The pods of many nodes from one source, so that a process with many nodes watches and stores each pod once. */
export class PodsByNode {
  readonly #source: Pick<PodSource, 'get' | 'list' | 'subscribe'>;
  readonly #shown: (pod: Pod) => Pod;
  readonly #nodes = new Map<string, NodePods>();
  readonly #nodeOf = new Map<string, string>();
  /** The result of `shown` for each version of a pod. It is reused, because workers compare versions by identity. */
  readonly #versions = new WeakMap<Pod, Pod>();

  /** `shown` returns the workers' view of a pod. */
  constructor(source: Pick<PodSource, 'get' | 'list' | 'subscribe'>, shown: (pod: Pod) => Pod) {
    this.#source = source;
    this.#shown = shown;
    source.subscribe((uid) => this.#dispatch(uid));
    for (const { metadata } of source.list()) this.#dispatch(metadata.uid ?? '');
  }

  /** The pods that are bound to `node`. */
  of(node: string): PodView {
    const known = this.#nodes.get(node);
    if (known !== undefined) return known;
    const pods = new NodePods((uid) => (this.#nodeOf.get(uid) === node ? this.#show(uid) : undefined));
    for (const [uid, owner] of this.#nodeOf) if (owner === node) pods.add(uid);
    this.#nodes.set(node, pods);
    return pods;
  }

  #show(uid: string): Pod | undefined {
    const pod = this.#source.get(uid);
    if (pod === undefined) return undefined;
    const shown = this.#versions.get(pod) ?? this.#shown(pod);
    this.#versions.set(pod, shown);
    return shown;
  }

  #dispatch(uid: string): void {
    const now = this.#source.get(uid)?.spec?.nodeName;
    const node = now ?? this.#nodeOf.get(uid);
    if (node === undefined) return;
    if (now === undefined) this.#nodeOf.delete(uid);
    else this.#nodeOf.set(uid, now);
    const pods = this.#nodes.get(node);
    if (now === undefined) pods?.remove(uid);
    else pods?.add(uid);
  }
}

/** The pods of one node. */
class NodePods implements PodView {
  readonly #find: (uid: string) => Pod | undefined;
  readonly #uids = new Set<string>();
  readonly #listeners = new Set<(uid: string) => void>();

  constructor(find: (uid: string) => Pod | undefined) {
    this.#find = find;
  }

  knows(): boolean {
    return true;
  }

  get(uid: string): Pod | undefined {
    return this.#find(uid);
  }

  list(): readonly Pod[] {
    return [...this.#uids].flatMap((uid) => this.#find(uid) ?? []);
  }

  subscribe(listener: (uid: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A pod of this node was added or has changed. */
  add(uid: string): void {
    this.#uids.add(uid);
    for (const listener of this.#listeners) listener(uid);
  }

  /** A pod of this node was removed. */
  remove(uid: string): void {
    this.#uids.delete(uid);
    for (const listener of this.#listeners) listener(uid);
  }
}
