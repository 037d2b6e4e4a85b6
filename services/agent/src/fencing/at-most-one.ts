import { claimsOfPod, isOfStatefulSet, type Pod } from '@gantry/objects';
import type { Instances } from '../runtime/labels.ts';
import type { PodState } from '../runtime/observer.ts';
import type { ClaimSource } from '../spec/config-source.ts';
import { isStaticPod } from '../spec/static-pod.ts';

/** Decides which pods must never run twice: those of a StatefulSet, and those that hold a ReadWriteOncePod claim. */
export class AtMostOne {
  readonly #claims: Pick<ClaimSource, 'claim'>;
  /** By pod uid. The access modes of a claim do not change. */
  readonly #known = new Map<string, Instances>();

  constructor(claims: Pick<ClaimSource, 'claim'>) {
    this.#claims = claims;
  }

  /** Reads the pod's claims once. A pod without an object is known by the labels of its containers. Rejects when a claim cannot be read. */
  async judge(pod: Pod | undefined, state: PodState | undefined, signal: AbortSignal): Promise<Instances> {
    if (state?.instances === 'at-most-one') return 'at-most-one';
    if (pod === undefined || isStaticPod(pod)) return 'any';
    const uid = pod.metadata.uid ?? '';
    const known = this.#known.get(uid);
    if (known !== undefined) return known;
    const instances = isOfStatefulSet(pod) ? 'at-most-one' : await this.#byClaims(pod, signal);
    if (instances !== undefined) this.#known.set(uid, instances);
    return instances ?? 'any';
  }

  /** The last result for a pod. */
  of(uid: string): Instances {
    return this.#known.get(uid) ?? 'any';
  }

  forget(uid: string): void {
    this.#known.delete(uid);
  }

  /** Undefined while a claim does not exist: the pod cannot start yet. */
  async #byClaims(pod: Pod, signal: AbortSignal): Promise<Instances | undefined> {
    const { namespace = '' } = pod.metadata;
    const names = claimsOfPod(pod).filter((name) => name !== '');
    const claims = await Promise.all(names.map((name) => this.#claims.claim(namespace, name, signal)));
    if (claims.some((claim) => claim?.spec?.accessModes?.includes('ReadWriteOncePod') === true)) return 'at-most-one';
    return claims.includes(undefined) ? undefined : 'any';
  }
}
