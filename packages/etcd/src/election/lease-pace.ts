import type { Clock } from '@gantry/base';

/** The bounds of a lease's time to live, in milliseconds. */
export interface LeaseBounds {
  /** While renewals are in time. */
  readonly ttlMs: number;
  /** While renewals are late. */
  readonly maxTtlMs: number;
}

/** How long a late renewal counts, in milliseconds. */
const MEMORY_MS = 20_000;
/** A renewal that is late by this share of the time to live makes the lease longer. */
const LATE = 0.25;

/**
 * Chooses the time to live of a lease from how late its renewals were: the configured time to live, doubled until the latest renewal of the
 * last 20 s was late by less than a quarter of it. A late renewal has waited for this process, for the network or for a slow etcd.
 */
export class LeasePace {
  readonly #bounds: LeaseBounds;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #observed: { readonly lateMs: number; readonly atMs: number }[] = [];

  constructor(bounds: LeaseBounds, clock: Pick<Clock, 'monotonicMs'>) {
    this.#bounds = bounds;
    this.#clock = clock;
  }

  /** Whether a renewal that is late by so many milliseconds makes the lease longer. */
  isLate(lateMs: number): boolean {
    return lateMs >= this.#bounds.ttlMs * LATE;
  }

  /** Records a renewal: milliseconds from the time at which it was due until the response. */
  observe(lateMs: number): void {
    const atMs = this.#clock.monotonicMs();
    // A later and larger one replaces earlier ones, so that the first is always the largest.
    this.#observed = this.#observed.filter((other) => other.lateMs > lateMs);
    this.#observed.push({ lateMs, atMs });
  }

  /** The time to live that fits, in milliseconds. */
  ttlMs(): number {
    const sinceMs = this.#clock.monotonicMs() - MEMORY_MS;
    this.#observed = this.#observed.filter(({ atMs }) => atMs > sinceMs);
    const latestMs = this.#observed[0]?.lateMs ?? 0;
    const { ttlMs: shortestMs, maxTtlMs } = this.#bounds;
    let ttlMs = shortestMs;
    while (latestMs >= ttlMs * LATE && ttlMs < maxTtlMs) ttlMs *= 2;
    return Math.max(shortestMs, Math.min(ttlMs, maxTtlMs));
  }
}
