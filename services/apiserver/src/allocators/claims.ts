import { APISERVER } from '../auth/apiserver-user.ts';
import { append } from '@gantry/base';
import type { JsonObject, KubeObject, Service } from '@gantry/objects';
import type { Clock } from '@gantry/base';
import { objectKey } from '../cache/index.ts';
import type { GuardedWrite, ObjectStore, StoredObject } from '../storage/object-store.ts';

/** Where claims are kept: beside the objects, in the same store. */
export const ALLOCATIONS = '/gantry/allocations/';
export const ADDRESSES = `${ALLOCATIONS}addresses/`;
export const NODE_PORTS = `${ALLOCATIONS}node-ports/`;

/** After this time, a claim whose owner does not exist may be taken over. A creation ends long before. */
const STALE_MS = 60_000;
/** How often a Service may change while one of its claims is given back. */
const RELEASE_TRIES = 5;
const SERVICES = { group: '', resource: 'services' };
const WRITER = { name: APISERVER.name };

const encoder = new TextEncoder();

/** The object that holds a claim. */
export interface Owner {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

interface Claim extends Owner {
  readonly at: number;
}

/** Claims of addresses and ports: a key that exists is taken, whichever apiserver wrote it. */
export class Claims {
  readonly #store: ObjectStore;
  readonly #clock: Clock;

  constructor(store: ObjectStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Claims the key for `owner`: 'held' when the claim was there already, 'taken' when another object has it. */
  async claim(key: string, owner: Owner, signal: AbortSignal): Promise<'created' | 'held' | 'taken'> {
    let expected: 'absent' | number = 'absent';
    for (let tries = 0; tries < 3; tries++) {
      const outcome = await this.#store.write(
        { key, expected, value: this.#encode(owner), mustExist: [], writer: WRITER },
        signal,
      );
      if (outcome.kind === 'committed') return 'created';
      if (outcome.kind !== 'conflict') return 'taken';
      if (outcome.current === null) {
        expected = 'absent';
        continue;
      }
      if (claimOf(outcome.current).uid === owner.uid) return 'held';
      if (!(await this.#isStale(outcome.current, signal))) return 'taken';
      expected = outcome.current.resourceVersion;
    }
    return 'taken';
  }

  /** Whether another object has the key. */
  async isTaken(key: string, owner: Owner, signal: AbortSignal): Promise<boolean> {
    const stored = await this.#store.get(key, signal);
    return stored !== null && claimOf(stored).uid !== owner.uid && !(await this.#isStale(stored, signal));
  }

  /** Gives a key back if it is `owner`'s and the stored object does not need it; the object must not change meanwhile. */
  async release(
    key: string,
    { owner, isNeeded }: { readonly owner: Owner; readonly isNeeded: (service: Service & KubeObject) => boolean },
    signal: AbortSignal,
  ): Promise<void> {
    for (let tries = 0; tries < RELEASE_TRIES; tries++) {
      const claim = await this.#store.get(key, signal);
      if (claim === null || claimOf(claim).uid !== owner.uid) return;
      const stored = await this.#store.get(objectKey(SERVICES, owner.namespace, owner.name), signal);
      const service = stored === null ? undefined : (stored.object as unknown as Service & KubeObject);
      const isOwner = service?.metadata.uid === owner.uid;
      if (isOwner && isNeeded(service)) return;
      const unchanged =
        isOwner && stored !== null ? [{ key: stored.key, resourceVersion: stored.resourceVersion }] : [];
      if (await this.#remove(claim, signal, unchanged)) return;
    }
  }

  /** Gives back claims whose owners do not exist. */
  async releaseStale(claims: readonly StoredObject[], signal: AbortSignal): Promise<void> {
    for (const stored of claims) if (await this.#isStale(stored, signal)) await this.#remove(stored, signal);
  }

  /** Every claim under `prefix`. */
  async all(prefix: string, signal: AbortSignal): Promise<readonly StoredObject[]> {
    const found: StoredObject[] = [];
    let startKey: string | undefined;
    do {
      const page = await this.#store.list(
        prefix,
        { limit: 1000, ...(startKey === undefined ? {} : { startKey }) },
        signal,
      );
      append(found, page.objects);
      startKey = page.next;
    } while (startKey !== undefined);
    return found;
  }

  /** Whether it was removed: not when the claim or one of `unchanged` has changed. */
  async #remove(
    { key, resourceVersion: expected }: StoredObject,
    signal: AbortSignal,
    unchanged: NonNullable<GuardedWrite['unchanged']> = [],
  ): Promise<boolean> {
    const write = { key, expected, value: null, mustExist: [], unchanged, writer: WRITER };
    return (await this.#store.write(write, signal)).kind === 'committed';
  }

  async #isStale(stored: StoredObject, signal: AbortSignal): Promise<boolean> {
    const claim = claimOf(stored);
    if (this.#clock.now() - claim.at < STALE_MS) return false;
    const owner = await this.#store.get(objectKey(SERVICES, claim.namespace, claim.name), signal);
    return (owner?.object as Partial<Service> | undefined)?.metadata?.uid !== claim.uid;
  }

  #encode(owner: Owner): Uint8Array {
    const { namespace, name, uid } = owner;
    return encoder.encode(JSON.stringify({ metadata: {}, claim: { namespace, name, uid, at: this.#clock.now() } }));
  }
}

function claimOf(stored: StoredObject): Claim {
  const {
    namespace = '',
    name = '',
    uid = '',
    at = 0,
  } = (stored.object as JsonObject & { claim?: Partial<Claim> }).claim ?? {};
  return { namespace, name, uid, at };
}
