/** What a priority level may have, wants and had, in seats. */
export interface LevelDemand {
  readonly nominal: number;
  /** What it keeps whatever others want, and what it may have at most. */
  readonly lower: number;
  readonly upper: number;
  /** The most that it wanted in the period. */
  readonly high: number;
  /** What it wants, smoothed over periods. */
  readonly smooth: number;
}

const STEPS = 50;

/**
 * The seats of each level for the next period, as Kubernetes lends them: each has what it used of its own, and what is left goes to all
 * in proportion to what they want. Pure.
 */
export function planSeats(levels: readonly LevelDemand[], total: number): readonly number[] {
  const minimum = levels.map(({ lower, nominal, high }) => Math.max(lower, Math.min(nominal, high)));
  const sum = minimum.reduce((all, one) => all + one, 0);
  if (sum >= total) return minimum;
  const target = levels.map(({ smooth }, i) => Math.max(minimum[i] ?? 0, smooth));
  const at = (fraction: number): number[] =>
    levels.map(({ upper }, i) => Math.min(upper, Math.max(minimum[i] ?? 0, fraction * (target[i] ?? 0))));
  let low = 0;
  let high = total;
  for (let i = 0; i < STEPS; i++) {
    const middle = (low + high) / 2;
    if (at(middle).reduce((all, one) => all + one, 0) > total) high = middle;
    else low = middle;
  }
  return at(low).map((seats) => Math.max(1, Math.round(seats)));
}

/** How fast the smoothed demand falls: Kubernetes' coefficient for periods of 10 s. */
const DECAY = 0.977;

/** The demand of one level over time: its average, its spread and its peak in a period. */
export class Demand {
  #value = 0;
  #at: number;
  #startedAt: number;
  #sum = 0;
  #squares = 0;
  #high = 0;
  smooth = 0;

  constructor(now: number) {
    this.#at = now;
    this.#startedAt = now;
  }

  get high(): number {
    return this.#high;
  }

  /** Takes note of a demand that holds from now on. */
  set(value: number, now: number): void {
    this.#integrate(now);
    this.#value = value;
    if (value > this.#high) this.#high = value;
  }

  /** Ends a period: returns its peak, with `smooth` brought up to date. */
  endPeriod(now: number): number {
    this.#integrate(now);
    const span = now - this.#startedAt;
    const average = span > 0 ? this.#sum / span : this.#value;
    const variance = span > 0 ? Math.max(0, this.#squares / span - average * average) : 0;
    const envelope = Math.min(this.#high, average + Math.sqrt(variance));
    this.smooth = Math.max(envelope, DECAY * this.smooth + (1 - DECAY) * envelope);
    const high = this.#high;
    this.#startedAt = now;
    this.#sum = 0;
    this.#squares = 0;
    this.#high = this.#value;
    return high;
  }

  #integrate(now: number): void {
    const span = now - this.#at;
    this.#sum += this.#value * span;
    this.#squares += this.#value * this.#value * span;
    this.#at = now;
  }
}
