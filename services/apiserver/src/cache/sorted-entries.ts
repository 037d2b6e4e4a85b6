import type { Entry } from './entry.ts';

/** Entries sorted by key. Changes are cheap. A snapshot costs nothing until the next change. */
export class SortedEntries {
  #entries: Entry[] = [];
  #shared = false;

  /** The current entries. The returned array never changes. */
  snapshot(): readonly Entry[] {
    this.#shared = true;
    return this.#entries;
  }

  set(entry: Entry): void {
    const entries = this.#own();
    const at = firstAtOrAfter(entries, entry.key);
    if (entries[at]?.key === entry.key) entries[at] = entry;
    else entries.splice(at, 0, entry);
  }

  delete(key: string): void {
    const entries = this.#own();
    const at = firstAtOrAfter(entries, key);
    if (entries[at]?.key === key) entries.splice(at, 1);
  }

  /** Replaces all entries. `entries` must be sorted. */
  replace(entries: Entry[]): void {
    this.#entries = entries;
    this.#shared = false;
  }

  #own(): Entry[] {
    if (this.#shared) {
      this.#entries = this.#entries.slice();
      this.#shared = false;
    }
    return this.#entries;
  }
}

/** The index of the first entry with a key equal to or after `key`. */
export function firstAtOrAfter(entries: readonly Entry[], key: string): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const at = entries[middle];
    if (at !== undefined && at.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The range [from, to) of the entries whose keys begin with `prefix` and are equal to or after `startKey`. */
export function prefixBounds(entries: readonly Entry[], prefix: string, startKey = prefix): [number, number] {
  const from = firstAtOrAfter(entries, startKey > prefix ? startKey : prefix);
  const to = firstAtOrAfter(entries, `${prefix}\uffff`);
  return [from, Math.max(from, to)];
}
