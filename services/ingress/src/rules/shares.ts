/** What one namespace may have of a thing, and all of them together. */
export interface Bound {
  readonly each: number;
  readonly all: number;
}

/**
 * The largest equal share, at most `each`, with which all namespaces together take no more than `all`, by what each of them wants.
 * A namespace that wants less than that loses nothing, however much others want.
 */
export function fairShare(wanted: Iterable<number>, { each, all }: Bound): number {
  const sorted = [...wanted].map((number) => Math.min(number, each)).toSorted((one, other) => one - other);
  let left = all;
  for (const [index, number] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index));
    if (number > share) return share;
    left -= number;
  }
  return each;
}

/** Counts what namespaces take of a thing, up to their share. */
export class Shares {
  readonly #share: number;
  readonly #taken = new Map<string, number>();

  constructor(share: number) {
    this.#share = share;
  }

  /** What each namespace may have. */
  get share(): number {
    return this.#share;
  }

  /** Takes `amount` for the namespace, or nothing where that is beyond its share. Returns whether it was taken. */
  take(namespace: string, amount = 1): boolean {
    const taken = (this.#taken.get(namespace) ?? 0) + amount;
    if (taken > this.#share) return false;
    this.#taken.set(namespace, taken);
    return true;
  }
}
