import type { Pod, Selector } from '@gantry/objects';

/** The most counts that outlive a cycle, and the most domains of all of them: about 100 MB. */
const MOST_COUNTS = 2048;
const MOST_DOMAINS = 1_000_000;

/** Counts that follow the cluster, by an id. Those that were asked for last are kept. */
export class KeptCounts<T extends { readonly domains: number }> {
  /** The one that was asked for longest ago is the first. */
  readonly #counts = new Map<string, T>();
  /** Those that were asked for since the last call of `asked`. */
  readonly #asked = new Set<T>();
  readonly #onForgotten: (count: T) => void;

  constructor(onForgotten: (count: T) => void) {
    this.#onForgotten = onForgotten;
  }

  /** Returns the count with this id, which is made if it is not kept. */
  get(id: string, make: () => T): T {
    const known = this.#counts.get(id);
    if (known !== undefined) this.#counts.delete(id);
    else this.#makeRoom();
    const count = known ?? make();
    this.#counts.set(id, count);
    this.#asked.add(count);
    return count;
  }

  /**
   * Returns the counts that were asked for since the last call, and forgets all others. So a change that every count has to follow costs no
   * more than what was asked before it, also when many such changes come at once.
   */
  asked(): readonly T[] {
    this.forget((count) => !this.#asked.has(count));
    this.#asked.clear();
    return [...this.#counts.values()];
  }

  /** Forgets those for which `isWrong` returns true. */
  forget(isWrong: (count: T) => boolean): void {
    for (const [id, count] of this.#counts)
      if (isWrong(count)) {
        this.#counts.delete(id);
        this.#asked.delete(count);
        this.#onForgotten(count);
      }
  }

  #makeRoom(): void {
    let left = this.#counts.size;
    let domains = 0;
    for (const count of this.#counts.values()) domains += count.domains;
    this.forget((count) => {
      if (left < MOST_COUNTS && domains <= MOST_DOMAINS) return false;
      left -= 1;
      domains -= count.domains;
      return true;
    });
  }
}

/** Things by the keys of the pods that concern them. So a pod is compared with few of them. */
export class KeyIndex<T> {
  readonly #byKey = new Map<string, Set<T>>();

  add(one: T, keys: readonly string[]): void {
    for (const key of keys) {
      const others = this.#byKey.get(key);
      if (others === undefined) this.#byKey.set(key, new Set([one]));
      else others.add(one);
    }
  }

  delete(one: T, keys: readonly string[]): void {
    for (const key of keys) {
      const others = this.#byKey.get(key);
      if (others?.delete(one) === true && others.size === 0) this.#byKey.delete(key);
    }
  }

  /** Those with one of the keys. */
  among(keys: readonly string[]): readonly T[] {
    return this.#byKey.size === 0 ? [] : keys.flatMap((key) => [...(this.#byKey.get(key) ?? [])]);
  }
}

const ANY_LABEL = '';

/** A pod that the selector selects has one of these keys among its `labelKeys`. */
export function selectorKeys(selector: Selector | undefined): readonly string[] {
  if (selector === undefined || selector.nothing) return [];
  const required = selector.requirements.find(({ operator }) => operator === 'in');
  return required?.values.map((value) => `${required.key}=${value}`) ?? [ANY_LABEL];
}

export function labelKeys({ metadata: { labels = {} } }: Pod): readonly string[] {
  return [ANY_LABEL, ...Object.entries(labels).map(([key, value]) => `${key}=${value}`)];
}

/** Adds to a sum. Sums of zero are left out. */
export function addTo<K>(sums: Map<K, number>, key: K, amount: number): void {
  const sum = (sums.get(key) ?? 0) + amount;
  if (sum === 0) sums.delete(key);
  else sums.set(key, sum);
}
