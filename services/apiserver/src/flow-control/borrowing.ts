/** Limits and demand of a priority level, in seats. */
export interface LevelDemand {
  readonly nominal: number;
  /** The minimum that other levels cannot borrow, and the maximum. */
  readonly lower: number;
  readonly upper: number;
  /** The highest demand of the period. */
  readonly high: number;
  /** The demand, smoothed over periods. */
  readonly smooth: number;
}

const STEPS = 50;

/** Seats for the next period. */
export interface SeatPlan {
  readonly seats: readonly number[];
  /** The seats of each level if there were enough for all. */
  readonly targets: readonly number[];
  /** The fraction of its target that a level gets if it is not at a limit; 0 if there are no seats to share. */
  readonly fairFraction: number;
}

/**
 * Computes the seats of each level for the next period, as in Kubernetes. Each level keeps the own seats that it needed. The rest is
 * shared in proportion to the demand. Pure.
 */
export function planSeats(levels: readonly LevelDemand[], total: number): SeatPlan {
  const minimum = levels.map(({ lower, nominal, high }) => Math.max(lower, Math.min(nominal, high)));
  const sum = minimum.reduce((all, one) => all + one, 0);
  const targets = levels.map(({ smooth }, i) => Math.max(minimum[i] ?? 0, smooth));
  if (sum >= total) return { seats: minimum, targets, fairFraction: 0 };
  const at = (fraction: number): number[] =>
    levels.map(({ upper }, i) => Math.min(upper, Math.max(minimum[i] ?? 0, fraction * (targets[i] ?? 0))));
  let low = 0;
  let high = total;
  for (let i = 0; i < STEPS; i++) {
    const middle = (low + high) / 2;
    if (at(middle).reduce((all, one) => all + one, 0) > total) high = middle;
    else low = middle;
  }
  return { seats: at(low).map((seats) => Math.max(1, Math.round(seats))), targets, fairFraction: low };
}

/** The decay of the smoothed demand: Kubernetes' coefficient for periods of 10 s. */
const DECAY = 0.977;

/** The demand of a level in a period, in seats. */
export interface DemandOfPeriod {
  readonly high: number;
  readonly average: number;
  readonly deviation: number;
  /** The demand smoothed over this and earlier periods. */
  readonly smooth: number;
}

/** Measures the demand of one level: average, deviation and maximum per period. */
export class Demand {
  #value = 0;
  #at: number;
  #startedAt: number;
  #sum = 0;
  #squares = 0;
  #high = 0;
  #last: DemandOfPeriod = { high: 0, average: 0, deviation: 0, smooth: 0 };

  constructor(now: number) {
    this.#at = now;
    this.#startedAt = now;
  }

  /** The demand of the last complete period. */
  get last(): DemandOfPeriod {
    return this.#last;
  }

  /** Sets the demand from `now` on. */
  set(value: number, now: number): void {
    this.#integrate(now);
    this.#value = value;
    if (value > this.#high) this.#high = value;
  }

  /** Ends a period and returns its demand. */
  endPeriod(now: number): DemandOfPeriod {
    this.#integrate(now);
    const span = now - this.#startedAt;
    const average = span > 0 ? this.#sum / span : this.#value;
    const variance = span > 0 ? Math.max(0, this.#squares / span - average * average) : 0;
    const deviation = Math.sqrt(variance);
    const envelope = Math.min(this.#high, average + deviation);
    const smooth = Math.max(envelope, DECAY * this.#last.smooth + (1 - DECAY) * envelope);
    this.#last = { high: this.#high, average, deviation, smooth };
    this.#startedAt = now;
    this.#sum = 0;
    this.#squares = 0;
    this.#high = this.#value;
    return this.#last;
  }

  #integrate(now: number): void {
    const span = now - this.#at;
    this.#sum += this.#value * span;
    this.#squares += this.#value * this.#value * span;
    this.#at = now;
  }
}
