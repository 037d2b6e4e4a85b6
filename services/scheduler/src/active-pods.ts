/** What the order of waiting pods depends on. */
export interface Waiting {
  readonly info: { readonly priority: number };
  readonly addedMs: number;
  /** The order of arrival. */
  readonly number: number;
}

/**
 * The pods that are decided on next, in a binary heap: the highest priority first, then the oldest. Its work grows with the logarithm of
 * their number, where sorting them for each cycle would cost more than the decisions.
 */
export class ActivePods<T extends Waiting> {
  readonly #heap: T[] = [];

  get size(): number {
    return this.#heap.length;
  }

  push(one: T): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const above = (at - 1) >>> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(one, parent)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = one;
  }

  /** Removes and returns the first. Undefined when there is none. */
  shift(): T | undefined {
    const [first] = this.#heap;
    const last = this.#heap.pop();
    if (last !== undefined && this.#heap.length > 0) this.#sink(last);
    return first;
  }

  #sink(one: T): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]];
      if (left === undefined) break;
      const isRight = right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (!isBefore(child, one)) break;
      heap[at] = child;
      at = 2 * at + (isRight ? 2 : 1);
    }
    heap[at] = one;
  }
}

function isBefore(a: Waiting, b: Waiting): boolean {
  if (a.info.priority !== b.info.priority) return a.info.priority > b.info.priority;
  return a.addedMs === b.addedMs ? a.number < b.number : a.addedMs < b.addedMs;
}
