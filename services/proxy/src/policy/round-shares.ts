import type { Work } from './peer-groups.ts';

/** Terms that are compared for the changed policies of one namespace before other namespaces and the rest of the table have their turn. */
const ROUND_TERMS = 1_000_000;

/** Each namespace's share of one round of work. */
export class RoundShares {
  readonly #taken = new Map<string, number>();

  /** Does work for a namespace, unless that has had its share; returns whether it did. */
  *take(namespace: string, work: () => Work): Work<boolean> {
    let taken = this.#taken.get(namespace) ?? 0;
    if (taken >= ROUND_TERMS) return false;
    for (const done of work()) {
      taken += done;
      yield done;
    }
    this.#taken.set(namespace, taken);
    return true;
  }
}
