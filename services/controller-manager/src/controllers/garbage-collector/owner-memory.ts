import { formatKey, type ObjectKey } from '@gantry/api';

/** Owners whose dependents may still have to be looked at; older ones are asked for again. */
const MAX_GONE = 5000;

/** What the collector remembers for a term: who is gone for good, and who waits for a kind that is not served. */
export class OwnerMemory {
  readonly #gone = new Set<string>();
  readonly #unresolved = new Map<string, Map<string, ObjectKey>>();

  /** An object with this uid has been deleted. No other will ever have it, even where nobody can be asked any more. */
  deleted(uid: string): void {
    this.#gone.add(uid);
    if (this.#gone.size <= MAX_GONE) return;
    const [oldest = ''] = this.#gone;
    this.#gone.delete(oldest);
  }

  isGone(uid: string): boolean {
    return this.#gone.has(uid);
  }

  /** An object has an owner of a kind that is not served. */
  waits(key: ObjectKey, groupKind: string): void {
    const waiting = this.#unresolved.get(groupKind) ?? new Map<string, ObjectKey>();
    this.#unresolved.set(groupKind, waiting.set(formatKey(key), key));
  }

  /** Who has waited for a kind; forgotten with that. */
  takeWaiting(groupKind: string): readonly ObjectKey[] {
    const waiting = this.#unresolved.get(groupKind);
    this.#unresolved.delete(groupKind);
    return [...(waiting?.values() ?? [])];
  }

  /** The object waits for nothing: it is gone, or is about to be looked at. */
  forget(key: ObjectKey): void {
    const id = formatKey(key);
    for (const [groupKind, waiting] of this.#unresolved) {
      if (waiting.delete(id) && waiting.size === 0) this.#unresolved.delete(groupKind);
    }
  }

  clear(): void {
    this.#gone.clear();
    this.#unresolved.clear();
  }
}
