/** A node without a heartbeat for this share of its grace period is checked more closely. Agents renew four times per period. */
const QUIET_SHARE = 0.3;
/** Without evidence for this share of the grace period, the view counts as interrupted. */
const GAP_SHARE = 0.45;
/** Evidence older than this share of the grace period is renewed. */
const FRESH_SHARE = 0.2;
/** The interval of checks of a quiet node, as a share of its grace period. */
const LOOK_SHARE = 0.125;

/**
 * For nodes with the same grace period: when each heartbeat last changed, and since when heartbeats could be observed without a gap. Both
 * use our own monotonic clock, as in Kubernetes: agents' clocks are not trusted, and time in which the API stored or reported no heartbeats
 * does not count against any node. `reset` forgets everything: a new leader gives every node a full period.
 */
export class Heartbeats {
  readonly #graceMs: number;
  readonly #heard = new Map<string, { readonly mark: string; readonly atMs: number }>();
  /** When the view last worked; undefined before the first heartbeat. */
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

  /** Records the node's heartbeat. Returns how many milliseconds it may stay unchanged; 0 or less means silent. */
  note(node: string, mark: string, nowMs: number): number {
    const known = this.#heard.get(node);
    if (known?.mark === mark) return this.leftMs(node, nowMs);
    this.#heard.set(node, { mark, atMs: nowMs });
    // A term starts with caches that the API has just filled.
    if (known !== undefined || this.#viewedMs === undefined) this.viewed(nowMs);
    return this.#graceMs;
  }

  /** Milliseconds that the heartbeat of a known node may stay unchanged. */
  leftMs(node: string, nowMs: number): number {
    const atMs = this.#heard.get(node)?.atMs ?? nowMs;
    return Math.max(atMs, this.#viewedSinceMs) + this.#graceMs - nowMs;
  }

  /** Records evidence that the API stores and reports heartbeats. After a gap, every period starts again. */
  viewed(nowMs: number): void {
    const before = this.#viewedMs ?? nowMs;
    if (nowMs - before > this.#graceMs * GAP_SHARE) this.#viewedSinceMs = nowMs;
    this.#viewedMs = nowMs;
  }

  /** Records that no heartbeat can be stored now: every period starts again with the next evidence that it can. */
  interrupted(): void {
    this.#viewedMs = Number.NEGATIVE_INFINITY;
  }

  /** Whether the latest evidence is recent enough. */
  isViewed(nowMs: number): boolean {
    return nowMs - (this.#viewedMs ?? Number.NEGATIVE_INFINITY) <= this.#graceMs * FRESH_SHARE;
  }

  isQuiet(leftMs: number): boolean {
    return this.#graceMs - leftMs >= this.#graceMs * QUIET_SHARE;
  }

  /** Milliseconds until the next check of a node that has `leftMs` left. */
  nextLookMs(leftMs: number): number {
    if (!this.isQuiet(leftMs)) return leftMs - this.#graceMs * (1 - QUIET_SHARE);
    return Math.max(1, Math.min(leftMs + 1, this.#graceMs * LOOK_SHARE));
  }
}
