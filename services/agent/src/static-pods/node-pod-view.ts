import { equalJson, formatKey, keyOf, type Pod, type PodStatus } from '@gantry/objects';
import type { PodSource, PodView } from '../sources/pod-source.ts';
import { HASH_ANNOTATION, isMirrorOf, isMirrorPod, isStaticUid } from '../spec/static-pod.ts';

/** The objects of the API to which the status of pods is written. */
export type PodRecords = Pick<PodSource, 'get' | 'observe' | 'subscribe'>;

/**
 * All pods of a node, as its workers see them: those of the API, and static pods, under their own uids. Mirrors are no pods here: the
 * status of a static pod is that of its mirror, and without one what was reported last.
 */
export class NodePodView implements PodView {
  readonly #source: PodSource;
  /** By uid, as the files have them. Undefined until the folder was read. */
  #files: ReadonlyMap<string, Pod> | undefined;
  /** By uid, with their status. */
  readonly #shown = new Map<string, Pod>();
  readonly #reported = new Map<string, PodStatus>();
  /** By their own uids. */
  readonly #mirrors = new Map<string, Pod>();
  readonly #listeners = new Set<(uid: string) => void>();

  constructor(source: PodSource) {
    this.#source = source;
    source.subscribe((uid) => this.#follow(uid));
  }

  /** False for static pods until their folder has been read: until then a missing pod may still exist. */
  knows(uid: string): boolean {
    return this.#files !== undefined || !isStaticUid(uid);
  }

  get(uid: string): Pod | undefined {
    if (isStaticUid(uid)) return this.#shown.get(uid);
    return this.#mirrors.has(uid) ? undefined : this.#source.get(uid);
  }

  list(): readonly Pod[] {
    return [...this.#source.list().filter((pod) => !isMirrorPod(pod)), ...this.#shown.values()];
  }

  subscribe(listener: (uid: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The static pods, and the mirrors that the API has for this node. */
  statics(): readonly Pod[] {
    return [...this.#shown.values()];
  }

  mirrors(): readonly Pod[] {
    return [...this.#mirrors.values()];
  }

  /** Where the API shows a pod: the uid of its object. */
  recordUid(uid: string): string {
    return this.#recordOf(uid)?.metadata.uid ?? uid;
  }

  /** The pod that an object of the API shows: of a mirror, the static pod, if it mirrors exactly that. */
  podUid(recordUid: string): string {
    const mirror = this.#mirrors.get(recordUid);
    const shown = this.#shown.get(mirror?.metadata.annotations?.[HASH_ANNOTATION] ?? '');
    return mirror !== undefined && shown !== undefined && isMirrorOf(mirror, shown)
      ? (shown.metadata.uid ?? '')
      : recordUid;
  }

  /** What status reports are written to. */
  records(): PodRecords {
    return {
      get: (uid) => this.#recordOf(uid),
      observe: (pod) => this.#source.observe(pod),
      subscribe: (listener) => this.subscribe(listener),
    };
  }

  /** Takes the status that was reported of a pod. It stands for that of a mirror while there is none. */
  remember(uid: string, status: PodStatus): void {
    if (!this.#shown.has(uid) || equalJson(this.#reported.get(uid), status)) return;
    this.#reported.set(uid, status);
    if (this.#show(uid)) this.#notify(uid);
  }

  /** Takes the pods that the files have now. */
  replaceFiles(pods: readonly Pod[]): void {
    const before = this.#files ?? new Map<string, Pod>();
    const files = new Map(pods.map((pod) => [pod.metadata.uid ?? '', pod]));
    this.#files = files;
    for (const uid of before.keys()) {
      if (files.has(uid)) continue;
      this.#shown.delete(uid);
      this.#reported.delete(uid);
      this.#notify(uid);
    }
    for (const uid of files.keys()) {
      if (before.has(uid)) continue;
      this.#show(uid);
      this.#notify(uid);
    }
  }

  #recordOf(uid: string): Pod | undefined {
    if (!isStaticUid(uid)) return this.get(uid);
    const pod = this.#files?.get(uid);
    return pod === undefined ? undefined : this.#mirrorOf(pod);
  }

  #mirrorOf(pod: Pod): Pod | undefined {
    return [...this.#mirrors.values()].find(
      (mirror) => mirror.metadata.deletionTimestamp === undefined && isMirrorOf(mirror, pod),
    );
  }

  /** Brings what is shown of a static pod up to date. Says whether it has changed. */
  #show(uid: string): boolean {
    const pod = this.#files?.get(uid);
    if (pod === undefined) return this.#shown.delete(uid);
    const mirrored = this.#mirrorOf(pod)?.status;
    // A new mirror has no status yet.
    const status = mirrored?.startTime === undefined ? (this.#reported.get(uid) ?? mirrored ?? pod.status) : mirrored;
    const before = this.#shown.get(uid);
    if (before !== undefined && equalJson(before.status, status)) return false;
    this.#shown.set(uid, status === undefined ? pod : { ...pod, status });
    return true;
  }

  #follow(uid: string): void {
    const pod = this.#source.get(uid);
    const known = this.#mirrors.get(uid);
    if (pod === undefined || !isMirrorPod(pod)) {
      this.#mirrors.delete(uid);
      if (known === undefined) this.#notify(uid);
      else this.#mirrorChanged(known);
      return;
    }
    this.#mirrors.set(uid, pod);
    this.#mirrorChanged(pod);
  }

  #mirrorChanged(mirror: Pod): void {
    for (const [uid, pod] of this.#files ?? []) {
      if (formatKey(keyOf(pod)) === formatKey(keyOf(mirror))) this.#show(uid);
    }
    this.#notify(mirror.metadata.annotations?.[HASH_ANNOTATION] ?? '');
  }

  #notify(uid: string): void {
    for (const listener of this.#listeners) listener(uid);
  }
}
