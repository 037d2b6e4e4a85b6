import { equalJson, formatKey, keyOf, type Pod, type PodStatus } from '@gantry/objects';
import type { PodSource, PodView } from '../sources/pod-source.ts';
import { HASH_ANNOTATION, isMirrorOf, isMirrorPod, isStaticUid } from '../spec/static-pod.ts';

/** The API objects to which the status of pods is written. */
export type PodRecords = Pick<PodSource, 'get' | 'observe' | 'subscribe'>;

/**
 * All pods of a node as its workers see them: the pods of the API, and static pods under their own uids. Mirror pods are not listed. The
 * status of a static pod comes from its mirror, or without a mirror from the last report.
 */
export class NodePodView implements PodView {
  readonly #source: PodSource;
  /** Static pods by uid, as in their files. Undefined until the folder was read. */
  #files: ReadonlyMap<string, Pod> | undefined;
  /** Static pods with their status, by uid. */
  readonly #shown = new Map<string, Pod>();
  readonly #reported = new Map<string, PodStatus>();
  /** Mirror pods by their own uids. */
  readonly #mirrors = new Map<string, Pod>();
  readonly #listeners = new Set<(uid: string) => void>();

  constructor(source: PodSource) {
    this.#source = source;
    source.subscribe((uid) => this.#follow(uid));
  }

  /** False for static pods until their folder was read: until then a missing pod may still exist. */
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

  /** The static pods with their status. */
  statics(): readonly Pod[] {
    return [...this.#shown.values()];
  }

  mirrors(): readonly Pod[] {
    return [...this.#mirrors.values()];
  }

  /** The uid of the API object that shows a pod. */
  recordUid(uid: string): string {
    return this.#recordOf(uid)?.metadata.uid ?? uid;
  }

  /** The uid of the pod that an API object shows. For a mirror pod: the static pod, if the mirror matches it. */
  podUid(recordUid: string): string {
    const mirror = this.#mirrors.get(recordUid);
    const shown = this.#shown.get(mirror?.metadata.annotations?.[HASH_ANNOTATION] ?? '');
    return mirror !== undefined && shown !== undefined && isMirrorOf(mirror, shown)
      ? (shown.metadata.uid ?? '')
      : recordUid;
  }

  /** The objects to which status reports are written. */
  records(): PodRecords {
    return {
      get: (uid) => this.#recordOf(uid),
      observe: (pod) => this.#source.observe(pod),
      subscribe: (listener) => this.subscribe(listener),
    };
  }

  /** Remembers the reported status of a static pod. It is used while the pod has no mirror. */
  remember(uid: string, status: PodStatus): void {
    if (!this.#shown.has(uid) || equalJson(this.#reported.get(uid), status)) return;
    this.#reported.set(uid, status);
    if (this.#show(uid)) this.#notify(uid);
  }

  /** Replaces the static pods by those in the files now. */
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

  /** Updates the view of a static pod. Returns whether it has changed. */
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
