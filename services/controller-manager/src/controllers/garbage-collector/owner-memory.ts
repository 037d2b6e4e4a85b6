import { formatReconcileKey, type ReconcileKey } from '@gantry/controller-runtime';

/** How many deleted owners are remembered; older ones are read from the store again. */
const MAX_GONE = 5000;

/** What the collector remembers for a term: deleted owners, and objects with an owner of a kind that is not served. */
export class OwnerMemory {
  readonly #gone = new Set<string>();
  readonly #unresolved = new Map<string, Map<string, ReconcileKey>>();

  /** An object with this uid has been deleted, for good: a uid is never used again. */
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
  waits(key: ReconcileKey, groupKind: string): void {
    const waiting = this.#unresolved.get(groupKind) ?? new Map<string, ReconcileKey>();
    this.#unresolved.set(groupKind, waiting.set(formatReconcileKey(key), key));
  }

  /** Returns and forgets the objects that wait for a kind. */
  takeWaiting(groupKind: string): readonly ReconcileKey[] {
    const waiting = this.#unresolved.get(groupKind);
    this.#unresolved.delete(groupKind);
    return [...(waiting?.values() ?? [])];
  }

  /** The object waits for nothing: it is gone, or is about to be reconciled. */
  forget(key: ReconcileKey): void {
    const id = formatReconcileKey(key);
    for (const [groupKind, waiting] of this.#unresolved) {
      if (waiting.delete(id) && waiting.size === 0) this.#unresolved.delete(groupKind);
    }
  }

  clear(): void {
    this.#gone.clear();
    this.#unresolved.clear();
  }
}
