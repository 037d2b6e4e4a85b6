/**
 * Observations in buckets, for a histogram that is collected at each scrape. An observation costs one comparison per lower bucket; a
 * histogram of the registry looks up the series by its labels each time.
 */
export class Tally {
  /** Upper bounds, ascending. */
  readonly bounds: readonly number[];
  /** Per bound: the number of observations up to this bound and above the previous one. */
  readonly counts: number[];
  count = 0;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.count += 1;
    this.sum += value;
    for (let i = 0; i < this.bounds.length; i++) {
      if (value > (this.bounds[i] ?? Infinity)) continue;
      this.counts[i] = (this.counts[i] ?? 0) + 1;
      return;
    }
  }
}
