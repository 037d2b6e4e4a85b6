/** A node that is unheard of for this share of its grace period is looked at more closely. An agent renews every quarter. */
const QUIET_SHARE = 0.3;
/** A view without evidence for this share of the grace period was interrupted. */
const GAP_SHARE = 0.45;
/** Evidence older than this share of the grace period is sought anew. */
const FRESH_SHARE = 0.2;
/** How often a quiet node is looked at, as a share of its grace period. */
const LOOK_SHARE = 0.125;

/**
 * Of nodes with the same grace period: when each one's heartbeat last changed, and since when heartbeats could have been observed without a gap. Both are by our
 * own monotonic clock, as in Kubernetes: agents' clocks are not trusted, and time in which the API stored no heartbeat, or
 * did not report it, counts for no node. `reset` forgets all: a new leader gives every node a full period.
 */
export class Heartbeats {
  readonly #graceMs: number;
  readonly #heard = new Map<string, { readonly mark: string; readonly atMs: number }>();
  /** When the view was last known to work; undefined before the first heartbeat. */
  #viewedMs: number | undefined;
  #viewedSinceMs = Number.NEGATIVE_INFINITY;

  constructor(graceMs: number) {
    this.#graceMs = graceMs;
  }

  reset(): void {
    this.#heard.clear();
    this.#viewedMs = undefined;
    this.#viewedSinceMs = Number.NEGATIVE_INFINITY;
  }

  forget(node: string): void {
    this.#heard.delete(node);
  }

  /** Records the node's heartbeat; returns how many ms it may stay unchanged: 0 or less means silent. */
  note(node: string, mark: string, nowMs: number): number {
    const known = this.#heard.get(node);
    if (known?.mark === mark) return this.leftMs(node, nowMs);
    this.#heard.set(node, { mark, atMs: nowMs });
    // A term begins with caches that the API has just filled.
    if (known !== undefined || this.#viewedMs === undefined) this.viewed(nowMs);
    return this.#graceMs;
  }

  /** How many ms the heartbeat of a known node may stay unchanged. */
  leftMs(node: string, nowMs: number): number {
    const atMs = this.#heard.get(node)?.atMs ?? nowMs;
    return Math.max(atMs, this.#viewedSinceMs) + this.#graceMs - nowMs;
  }

  /** The API stores heartbeats and reports them. After a gap every period begins anew. */
  viewed(nowMs: number): void {
    const before = this.#viewedMs ?? nowMs;
    if (nowMs - before > this.#graceMs * GAP_SHARE) this.#viewedSinceMs = nowMs;
    this.#viewedMs = nowMs;
  }

  /** No heartbeat can be stored now: every period begins anew with the next evidence of the contrary. */
  interrupted(): void {
    this.#viewedMs = Number.NEGATIVE_INFINITY;
  }

  /** Whether the latest evidence is new enough to judge by. */
  isViewed(nowMs: number): boolean {
    return nowMs - (this.#viewedMs ?? Number.NEGATIVE_INFINITY) <= this.#graceMs * FRESH_SHARE;
  }

  isQuiet(leftMs: number): boolean {
    return this.#graceMs - leftMs >= this.#graceMs * QUIET_SHARE;
  }

  /** In how many ms to look at a node again that has `leftMs` left. */
  nextLookMs(leftMs: number): number {
    if (!this.isQuiet(leftMs)) return leftMs - this.#graceMs * (1 - QUIET_SHARE);
    return Math.max(1, Math.min(leftMs + 1, this.#graceMs * LOOK_SHARE));
  }
}
