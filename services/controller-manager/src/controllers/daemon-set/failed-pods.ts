import type { Instant } from '@gantry/base';

const FIRST_MS = 1000;
const MAX_MS = 15 * 60_000;
/** After a quiet time of twice the longest delay a node starts from the first delay again. */
const FORGET_MS = 2 * MAX_MS;

interface Entry {
  readonly at: Instant;
  readonly delayMs: number;
}

/**
 * Delays between deletions of failed pods of one set on one node, from 1 second doubling to 15 minutes as in Kubernetes: a
 * kubelet that rejects a pod would otherwise make the controller replace it without a pause.
 */
export class FailedPods {
  /** In the order of their times. */
  readonly #entries = new Map<string, Entry>();

  reset(): void {
    this.#entries.clear();
  }

  /** Until when the next failed pod stays; undefined when it may go now. */
  waitsUntil(key: string, now: Instant): Instant | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const until = entry.at + entry.delayMs;
    return until > now ? until : undefined;
  }

  /** A failed pod is deleted now. */
  note(key: string, now: Instant): void {
    for (const [old, { at }] of this.#entries) {
      if (now - at <= FORGET_MS) break;
      this.#entries.delete(old);
    }
    const known = this.#entries.get(key);
    this.#entries.delete(key);
    this.#entries.set(key, { at: now, delayMs: known === undefined ? FIRST_MS : Math.min(MAX_MS, known.delayMs * 2) });
  }
}
