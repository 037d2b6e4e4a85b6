import { type Element, EMPTY, type Fragment } from './fragment.ts';

/** The changes of the table. Each part is in any order. */
export interface TableChange {
  readonly newSets: ReadonlyMap<string, string>;
  /** The rules by chain: of new chains and of chains whose rules change. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  readonly goneElements: readonly Element[];
  readonly newElements: readonly Element[];
  readonly goneSets: readonly string[];
  readonly goneChains: readonly string[];
}

/**
 * The wanted table as fragments by owner, and the parts that the kernel does not have yet. Two owners may claim the same element, for
 * example two Services with the same external address and port. Then the owner whose name sorts first has it.
 */
export class RuleBook {
  readonly #fragments = new Map<string, Fragment>();
  readonly #claims = new Map<string, Map<string, Element>>();
  readonly #applied = new Map<string, Element>();
  /** Elements whose wanted state may differ from the applied one. */
  readonly #touched = new Set<string>();
  readonly #chains = new Changing<readonly string[]>((one, other) => one.join('\n') === other.join('\n'));
  readonly #sets = new Changing<string>((one, other) => one === other);

  /** Replaces an owner's part. */
  put(owner: string, fragment: Fragment): void {
    const before = this.#fragments.get(owner) ?? EMPTY;
    for (const element of before.elements) this.#unclaim(owner, element);
    for (const element of fragment.elements) this.#claim(owner, element);
    this.#chains.replace(before.chains, fragment.chains);
    this.#sets.replace(before.sets, fragment.sets);
    if (fragment === EMPTY) this.#fragments.delete(owner);
    else this.#fragments.set(owner, fragment);
  }

  remove(owner: string): void {
    this.put(owner, EMPTY);
  }

  /** Assumes that the kernel has nothing of the table, so the next change is the whole table. */
  forgetApplied(): void {
    this.#applied.clear();
    for (const key of this.#claims.keys()) this.#touched.add(key);
    this.#chains.forgetApplied();
    this.#sets.forgetApplied();
  }

  /** Returns the changes, or undefined if there are none. From now on they count as applied. */
  takeChange(): TableChange | undefined {
    const goneElements: Element[] = [];
    const newElements: Element[] = [];
    for (const key of this.#touched) {
      const wanted = firstClaim(this.#claims.get(key));
      const applied = this.#applied.get(key);
      if (wanted?.value === applied?.value) continue;
      if (applied !== undefined) goneElements.push(applied);
      if (wanted !== undefined) newElements.push(wanted);
      if (wanted === undefined) this.#applied.delete(key);
      else this.#applied.set(key, wanted);
    }
    this.#touched.clear();
    const chains = this.#chains.take();
    const sets = this.#sets.take();
    const size = goneElements.length + newElements.length + chains.size + sets.size;
    if (size === 0) return undefined;
    return {
      newSets: sets.wanted,
      chains: chains.wanted,
      goneElements,
      newElements,
      goneSets: sets.gone,
      goneChains: chains.gone,
    };
  }

  #claim(owner: string, element: Element): void {
    const key = keyOf(element);
    const claims = this.#claims.get(key) ?? new Map<string, Element>();
    claims.set(owner, element);
    this.#claims.set(key, claims);
    this.#touched.add(key);
  }

  #unclaim(owner: string, element: Element): void {
    const key = keyOf(element);
    const claims = this.#claims.get(key);
    claims?.delete(owner);
    if (claims?.size === 0) this.#claims.delete(key);
    this.#touched.add(key);
  }
}

/** Named things that owners may share, and which of them have changed since they were applied. */
class Changing<T> {
  readonly #wanted = new Map<string, T>();
  readonly #owners = new Map<string, number>();
  readonly #applied = new Map<string, T>();
  readonly #touched = new Set<string>();
  readonly #isSame: (one: T, other: T) => boolean;

  constructor(isSame: (one: T, other: T) => boolean) {
    this.#isSame = isSame;
  }

  replace(before: ReadonlyMap<string, T>, after: ReadonlyMap<string, T>): void {
    for (const [name, value] of after) {
      this.#wanted.set(name, value);
      this.#owners.set(name, (this.#owners.get(name) ?? 0) + 1);
      this.#touched.add(name);
    }
    for (const name of before.keys()) {
      const owners = (this.#owners.get(name) ?? 1) - 1;
      this.#owners.set(name, owners);
      this.#touched.add(name);
      if (owners > 0) continue;
      this.#owners.delete(name);
      this.#wanted.delete(name);
    }
  }

  forgetApplied(): void {
    this.#applied.clear();
    for (const name of this.#wanted.keys()) this.#touched.add(name);
  }

  take(): { readonly wanted: ReadonlyMap<string, T>; readonly gone: readonly string[]; readonly size: number } {
    const wanted = new Map<string, T>();
    const gone: string[] = [];
    for (const name of this.#touched) {
      const [now, before] = [this.#wanted.get(name), this.#applied.get(name)];
      if (now === undefined) {
        if (this.#applied.delete(name)) gone.push(name);
      } else if (before === undefined || !this.#isSame(now, before)) {
        wanted.set(name, now);
        this.#applied.set(name, now);
      }
    }
    this.#touched.clear();
    return { wanted, gone, size: wanted.size + gone.length };
  }
}

function keyOf({ container, key }: Element): string {
  return `${container} ${key}`;
}

function firstClaim(claims: ReadonlyMap<string, Element> | undefined): Element | undefined {
  let first: string | undefined;
  for (const owner of claims?.keys() ?? []) if (first === undefined || owner < first) first = owner;
  return first === undefined ? undefined : claims?.get(first);
}
