import { type ControllerContext, IndexedObjects, type ReconcileKey } from '@gantry/controller-runtime';
import { claimsOfPod, formatKey, keyOf, type PersistentVolumeClaim, type Pod, PODS } from '@gantry/objects';
import { isClaimUsed } from './plan.ts';

/** The pods of a namespace with claims, as listed from the store. */
interface Listing {
  /** The value of the counter of `ClaimUses` at its start. */
  readonly begunAt: number;
  /** Pods by the name of the claim. */
  readonly pods: Promise<ReadonlyMap<string, readonly Pod[]>>;
}

/**
 * Knows which pods use which claims. Before a claim is released, the store is read for pods that the cache does not show yet, once for all
 * claims of a namespace that are deleted together. A pod that is bound to its node after a claim's deletion cannot start with it, so a list
 * that started after the deletion was seen stays valid.
 */
export class ClaimUses {
  readonly #pods = new IndexedObjects<Pod, 'claim'>({ claim: keysOfClaims });
  /** When the deletion of claims was first seen, by namespace and name. */
  readonly #deleted = new Map<string, Map<string, { readonly uid: string; readonly at: number }>>();
  readonly #listings = new Map<string, Listing>();
  #counter = 0;

  clear(): void {
    this.#pods.clear();
    this.#deleted.clear();
    this.#listings.clear();
  }

  takePod(pod: Pod | undefined, old: Pod | undefined): readonly ReconcileKey[] {
    const subject = pod ?? old;
    if (subject === undefined) return [];
    const names = claimsOfPod(subject);
    if (names.length === 0) return [];
    this.#pods.take(pod, old);
    return names.map((name) => ({ namespace: subject.metadata.namespace ?? '', name }));
  }

  takeClaim(claim: PersistentVolumeClaim | undefined, old: PersistentVolumeClaim | undefined): readonly ReconcileKey[] {
    const subject = claim ?? old;
    if (subject === undefined) return [];
    const key = keyOf(subject);
    if (claim === undefined) this.#forget(key);
    else if (claim.metadata.deletionTimestamp !== undefined) this.#deletedAt(claim);
    return [key];
  }

  /** Whether a pod uses a claim that is being deleted. Always true for other claims, without a lookup. */
  async isUsed(claim: PersistentVolumeClaim, context: ControllerContext, signal: AbortSignal): Promise<boolean> {
    if (claim.metadata.deletionTimestamp === undefined) return true;
    const { namespace = '', name = '' } = claim.metadata;
    if (isClaimUsed(claim, this.#pods.in('claim', formatKey(keyOf(claim))))) return true;
    const isUsedIn = async ({ pods }: Listing) => isClaimUsed(claim, (await pods).get(name) ?? []);
    const known = this.#listings.get(namespace);
    // A use in the list may have ended since.
    if (known !== undefined && known.begunAt > this.#deletedAt(claim) && !(await isUsedIn(known))) return false;
    return await isUsedIn(this.#list(namespace, context, signal));
  }

  #deletedAt({ metadata: { namespace = '', name = '', uid = '' } }: PersistentVolumeClaim): number {
    const seen = this.#deleted.get(namespace) ?? new Map<string, { readonly uid: string; readonly at: number }>();
    this.#deleted.set(namespace, seen);
    const known = seen.get(name);
    if (known?.uid === uid) return known.at;
    const at = ++this.#counter;
    seen.set(name, { uid, at });
    return at;
  }

  #forget({ namespace, name }: ReconcileKey): void {
    const seen = this.#deleted.get(namespace);
    seen?.delete(name);
    if (seen !== undefined && seen.size > 0) return;
    this.#deleted.delete(namespace);
    this.#listings.delete(namespace);
  }

  #list(namespace: string, { client }: ControllerContext, signal: AbortSignal): Listing {
    const listing: Listing = {
      begunAt: ++this.#counter,
      pods: client.list(PODS, { namespace }, signal).then(({ items }) => byClaim(items)),
    };
    this.#listings.set(namespace, listing);
    listing.pods.catch(() => {
      if (this.#listings.get(namespace) === listing) this.#listings.delete(namespace);
    });
    return listing;
  }
}

function keysOfClaims(pod: Pod): readonly string[] {
  return claimsOfPod(pod).map((name) => formatKey({ namespace: pod.metadata.namespace ?? '', name }));
}

function byClaim(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  const found = new Map<string, Pod[]>();
  for (const pod of pods) {
    for (const name of claimsOfPod(pod)) {
      const users = found.get(name);
      if (users === undefined) found.set(name, [pod]);
      else users.push(pod);
    }
  }
  return found;
}
