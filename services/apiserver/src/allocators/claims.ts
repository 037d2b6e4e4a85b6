import { APISERVER } from '../auth/user.ts';
import { append, sleep } from '@gantry/base';
import { type JsonObject, type KubeObject, type Service, SERVICES } from '@gantry/objects';
import type { Clock } from '@gantry/base';
import { objectKey } from '../cache/index.ts';
import type { ObjectStore, StoredObject, Unchanged } from '../storage/object-store.ts';

/** The keys of claims. They are in the same store as the objects. */
export const ALLOCATIONS = '/gantry/allocations/';
export const ADDRESSES = `${ALLOCATIONS}addresses/`;
export const NODE_PORTS = `${ALLOCATIONS}node-ports/`;

/**
 * How long a claim that no stored Service needs is left to the write that made it, by the monotonic clock of this process. This time
 * only saves such a write a second attempt. It is not needed for safety: the commit of the Service compares the version of its claim.
 */
const LEFT_ALONE_MS = 1000;
const LOOK_EVERY_MS = 100;
/** Maximum attempts to claim or release a key. An attempt fails when the claim or its Service changes meanwhile. */
const TRIES = 5;
const WRITER = { name: APISERVER.name };

const encoder = new TextEncoder();

/** The object that holds a claim. */
export interface Owner {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The result of an attempt to claim a key. The commit of the write must compare the version of `claim`. */
export type Claimed =
  | { readonly kind: 'created' | 'held'; readonly claim: Unchanged }
  /** Another object has it. */
  | { readonly kind: 'taken' };

/** Whether a stored Service needs a claim. */
export type NeedsClaim = (service: Service & KubeObject, key: string) => boolean;

/** Claims of addresses and ports, shared by all apiservers. A key is taken while it exists and a stored Service needs it. */
export class Claims {
  readonly #store: ObjectStore;
  readonly #clock: Clock;
  readonly #needs: NeedsClaim;

  constructor(store: ObjectStore, clock: Clock, needs: NeedsClaim) {
    this.#store = store;
    this.#clock = clock;
    this.#needs = needs;
  }

  /** Claims the key for `owner`. With `orphans: 'taken-over'` it waits and takes over a claim that no stored Service needs. */
  async claim(
    key: string,
    owner: Owner,
    { orphans }: { readonly orphans: 'left' | 'taken-over' },
    signal: AbortSignal,
  ): Promise<Claimed> {
    let expected: 'absent' | number = 'absent';
    let unchanged: readonly Unchanged[] = [];
    for (let tries = 0; tries < TRIES; tries++) {
      const write = { key, expected, value: encode(owner), unchanged, writer: WRITER };
      const outcome = await this.#store.write(write, signal);
      if (outcome.kind === 'committed') {
        return { kind: 'created', claim: { key, resourceVersion: outcome.resourceVersion } };
      }
      const current = outcome.kind === 'conflict' ? outcome.current : await this.#store.get(key, signal);
      expected = current?.resourceVersion ?? 'absent';
      unchanged = [];
      if (current === null) continue;
      if (ownerOf(current).uid === owner.uid) return { kind: 'held', claim: versionOf(current) };
      if (orphans === 'left') return { kind: 'taken' };
      const orphan = await this.#waitForOwner(current, signal);
      if (orphan === 'needed') return { kind: 'taken' };
      if (orphan !== 'changed') unchanged = [orphan];
    }
    return { kind: 'taken' };
  }

  /** Whether a stored Service other than `owner` needs the key. */
  async isTaken(key: string, owner: Owner, signal: AbortSignal): Promise<boolean> {
    const stored = await this.#store.get(key, signal);
    return stored !== null && ownerOf(stored).uid !== owner.uid && (await this.#owner(stored, signal)) === 'needed';
  }

  /** Releases a key if `owner` has it and the stored Service does not need it. The transaction compares the versions of both. */
  async release(key: string, owner: Owner, signal: AbortSignal): Promise<void> {
    for (let tries = 0; tries < TRIES; tries++) {
      const claim = await this.#store.get(key, signal);
      if (claim === null || ownerOf(claim).uid !== owner.uid) return;
      const found = await this.#owner(claim, signal);
      if (found === 'needed' || (await this.#remove(claim, found, signal))) return;
    }
  }

  /** Releases the claims that no stored Service needs, now and `LEFT_ALONE_MS` later. Returns their number. */
  async releaseOrphans(claims: readonly StoredObject[], signal: AbortSignal): Promise<number> {
    const orphans: StoredObject[] = [];
    for (const claim of claims) if ((await this.#owner(claim, signal)) !== 'needed') orphans.push(claim);
    if (orphans.length === 0) return 0;
    await sleep(this.#clock, LEFT_ALONE_MS, signal);
    let released = 0;
    for (const claim of orphans) {
      const found = await this.#owner(claim, signal);
      if (found !== 'needed' && (await this.#remove(claim, found, signal))) released += 1;
    }
    return released;
  }

  /** All claims under `prefix`. */
  async all(prefix: string, signal: AbortSignal): Promise<readonly StoredObject[]> {
    const found: StoredObject[] = [];
    let startKey: string | undefined;
    do {
      const page = await this.#store.list(prefix, { limit: 1000, startKey }, signal);
      append(found, page.objects);
      startKey = page.next;
    } while (startKey !== undefined);
    return found;
  }

  /**
   * Waits for the Service of a claim. Returns 'needed' when the Service is stored, 'changed' when the claim has changed, and else the
   * version of the Service that does not need the claim.
   */
  async #waitForOwner(claim: StoredObject, signal: AbortSignal): Promise<'needed' | 'changed' | Unchanged> {
    for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
      const found = await this.#owner(claim, signal);
      if (found === 'needed' || waitedMs >= LEFT_ALONE_MS) return found;
      await sleep(this.#clock, LOOK_EVERY_MS, signal);
      const now = await this.#store.get(claim.key, signal);
      if (now?.resourceVersion !== claim.resourceVersion) return 'changed';
    }
  }

  /** Returns 'needed' if the stored Service needs the claim; else the version of the Service that does not need it. */
  async #owner(claim: StoredObject, signal: AbortSignal): Promise<'needed' | Unchanged> {
    const { namespace, name, uid } = ownerOf(claim);
    const key = objectKey(SERVICES, namespace, name);
    const stored = await this.#store.get(key, signal);
    if (stored === null) return { key, resourceVersion: 'absent' };
    const service = stored.object as Service & KubeObject;
    return service.metadata.uid === uid && this.#needs(service, claim.key) ? 'needed' : versionOf(stored);
  }

  /** Removes the claim. Returns false if the claim or its Service has changed. */
  async #remove(claim: StoredObject, owner: Unchanged, signal: AbortSignal): Promise<boolean> {
    const { key, resourceVersion: expected } = claim;
    const write = { key, expected, value: null, unchanged: [owner], writer: WRITER };
    return (await this.#store.write(write, signal)).kind === 'committed';
  }
}

/** The object for which a claim was made. */
export function ownerOf(claim: StoredObject): Owner {
  const { namespace = '', name = '', uid = '' } = (claim.object as JsonObject & { claim?: Partial<Owner> }).claim ?? {};
  return { namespace, name, uid };
}

function versionOf({ key, resourceVersion }: StoredObject): Unchanged {
  return { key, resourceVersion };
}

function encode({ namespace, name, uid }: Owner): Uint8Array {
  return encoder.encode(JSON.stringify({ metadata: {}, claim: { namespace, name, uid } }));
}
