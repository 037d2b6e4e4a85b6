/** One token for each zone that comes again at the zone's rate, as Kubernetes' limiter with a burst of 1. */
export class EvictionLimiter {
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();
  /** Nodes whose eviction was allowed: a write that fails may be repeated. */
  readonly #allowed = new Set<string>();

  reset(): void {
    this.#buckets.clear();
    this.#allowed.clear();
  }

  /** The node is ready or gone: its next eviction needs a token again. */
  forget(node: string): void {
    this.#allowed.delete(node);
  }

  /** How many ms the eviction of a node must wait at `perSecond` nodes of its zone; 0 allows it now. Infinity at a rate of 0. */
  waitMs(node: string, zone: string, perSecond: number, nowMs: number): number {
    if (this.#allowed.has(node)) return 0;
    const known = this.#buckets.get(zone) ?? { tokens: 1, atMs: nowMs };
    const tokens = Math.min(1, known.tokens + ((nowMs - known.atMs) / 1000) * perSecond);
    const isAllowed = tokens >= 1 && perSecond > 0;
    this.#buckets.set(zone, { tokens: isAllowed ? tokens - 1 : tokens, atMs: nowMs });
    if (isAllowed) this.#allowed.add(node);
    if (isAllowed) return 0;
    return perSecond === 0 ? Number.POSITIVE_INFINITY : ((1 - tokens) / perSecond) * 1000;
  }
}
