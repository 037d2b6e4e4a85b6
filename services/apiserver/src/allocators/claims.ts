import { append } from '@gantry/base';
import type { JsonObject, Service } from '@gantry/api';
import type { Clock } from '@gantry/base';
import { objectKey } from '../cache/index.ts';
import type { ObjectStore, StoredObject } from '../storage/object-store.ts';

/** Where claims are kept: beside the objects, in the same store. */
export const ALLOCATIONS = '/gantry/allocations/';
export const ADDRESSES = `${ALLOCATIONS}addresses/`;
export const NODE_PORTS = `${ALLOCATIONS}node-ports/`;

/** A claim whose owner does not exist is given away after this time; a create that is under way ends long before. */
const STALE_MS = 60_000;
const SERVICES = { group: '', resource: 'services' };
const WRITER = { name: 'system:apiserver' };

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

  /** Whether the key is `owner`'s now. */
  async claim(key: string, owner: Owner, signal: AbortSignal): Promise<boolean> {
    let expected: 'absent' | number = 'absent';
    for (let tries = 0; tries < 3; tries++) {
      const outcome = await this.#store.write(
        { key, expected, value: this.#encode(owner), mustExist: [], writer: WRITER },
        signal,
      );
      if (outcome.kind === 'committed') return true;
      if (outcome.kind !== 'conflict') return false;
      if (outcome.current === null) {
        expected = 'absent';
        continue;
      }
      if (claimOf(outcome.current).uid === owner.uid) return true;
      if (!(await this.#isStale(outcome.current, signal))) return false;
      expected = outcome.current.resourceVersion;
    }
    return false;
  }

  /** Whether somebody else has the key. */
  async isTaken(key: string, owner: Owner, signal: AbortSignal): Promise<boolean> {
    const stored = await this.#store.get(key, signal);
    return stored !== null && claimOf(stored).uid !== owner.uid && !(await this.#isStale(stored, signal));
  }

  /** Gives a key back if it is `owner`'s. */
  async release(key: string, owner: Owner, signal: AbortSignal): Promise<void> {
    const stored = await this.#store.get(key, signal);
    if (stored !== null && claimOf(stored).uid === owner.uid) await this.#remove(stored, signal);
  }

  /** Gives back those of the claims whose owners do not exist. */
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

  async #remove(stored: StoredObject, signal: AbortSignal): Promise<void> {
    const { key, resourceVersion: expected } = stored;
    await this.#store.write({ key, expected, value: null, mustExist: [], writer: WRITER }, signal);
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
