import {
  collectDefaultMetrics,
  Counter as PromCounter,
  Gauge as PromGauge,
  Histogram as PromHistogram,
  Registry,
} from 'prom-client';
import { append } from '@gantry/base';
import type { Tally } from './tally.ts';

/** Label values of one series. */
export type Labels = Readonly<Record<string, string | number>>;

/** A value that only increases. */
export interface Counter {
  inc(labels?: Labels, by?: number): void;
}

/** A value that can increase and decrease. */
export interface Gauge {
  set(value: number, labels?: Labels): void;
}

/** Counts observations in buckets, in seconds unless the name says otherwise. */
export interface Histogram {
  observe(value: number, labels?: Labels): void;
}

/** A value of a metric. The name of a histogram's value ends in `_bucket`, `_sum` or `_count`. */
export interface MetricValue {
  readonly name: string;
  readonly labels: Labels;
  readonly value: number;
}

/** The metrics of a process. A name that is requested twice returns the same metric. */
export interface Metrics {
  /** `collect` is called at each scrape, after all series were set to zero. For totals that are kept elsewhere. */
  counter(name: string, help: string, labelNames?: readonly string[], collect?: (counter: Counter) => void): Counter;
  /** `collect` is called at each scrape: for values that are expensive to keep up to date. */
  gauge(name: string, help: string, labelNames?: readonly string[], collect?: (gauge: Gauge) => void): Gauge;
  histogram(name: string, help: string, labelNames?: readonly string[], buckets?: readonly number[]): Histogram;
  /** A histogram of tallies that are kept elsewhere. At each scrape, `collect` calls `show` once per series. */
  tallies(name: string, help: string, collect: (show: (labels: Labels, tally: Tally) => void) => void): void;
  /** The values of a metric; none if there is no such metric. Those of a histogram are its buckets, sums and counts. */
  read(name: string): Promise<readonly MetricValue[]>;
  /** Prometheus' text form and its content type. */
  render(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** Interval of the event loop monitor. With prom-client's default of 10 ms, an idle process spends 0.4 % of a core on it. */
const EVENT_LOOP_PRECISION_MS = 1000;

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The upper bounds of `count` buckets. The first is `start`; each next one is `factor` times the previous one. */
export function exponentialBuckets(start: number, factor: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => start * factor ** i);
}

/**
 * Creates a separate registry. For a `process` it includes memory, CPU and event loop, and is never freed, because an observer of garbage
 * collection references it. The registry of a `part`, such as a simulated process, can be freed.
 */
export function createMetrics(of: 'process' | 'part' = 'process'): Metrics {
  const registry = new Registry();
  if (of === 'process') {
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS });
  }
  const made = new Map<string, unknown>();
  const once = <T>(name: string, make: () => T): T => {
    const known = made.get(name) as T | undefined;
    if (known !== undefined) return known;
    const metric = make();
    made.set(name, metric);
    return metric;
  };
  return {
    counter: (name, help, labelNames = [], collect) =>
      once(name, (): Counter => {
        const settings = { name, help, labelNames: [...labelNames], registers: [registry] };
        const shown = (counter: PromCounter): Counter => ({ inc: (labels = {}, by = 1) => counter.inc(labels, by) });
        if (collect === undefined) return shown(new PromCounter(settings));
        return shown(
          new PromCounter({
            ...settings,
            collect() {
              this.reset();
              collect(shown(this));
            },
          }),
        );
      }),
    gauge: (name, help, labelNames = [], collect) =>
      once(name, (): Gauge => {
        const settings = { name, help, labelNames: [...labelNames], registers: [registry] };
        const shown = (gauge: PromGauge): Gauge => ({ set: (value, labels = {}) => gauge.set(labels, value) });
        if (collect === undefined) return shown(new PromGauge(settings));
        return shown(
          new PromGauge({
            ...settings,
            collect() {
              this.reset();
              collect(shown(this));
            },
          }),
        );
      }),
    histogram: (name, help, labelNames = [], buckets = SECONDS) =>
      once(name, (): Histogram => {
        const settings = { name, help, labelNames: [...labelNames], buckets: [...buckets], registers: [registry] };
        const histogram = new PromHistogram(settings);
        return { observe: (value, labels = {}) => histogram.observe(labels, value) };
      }),
    tallies: (name, help, collect) =>
      once(name, () => {
        const get = (): Promise<object> => {
          const values: Series[] = [];
          collect((labels, tally) => append(values, seriesOf(name, labels, tally)));
          return Promise.resolve({ name, help, type: 'histogram', values, aggregator: 'sum' });
        };
        registry.registerMetric({ name, help, get } as unknown as PromHistogram);
      }),
    read: async (name) => {
      const values = (await registry.getSingleMetric(name)?.get())?.values ?? [];
      return values.map(({ labels, value, ...of }) => ({
        name: ('metricName' in of ? (of.metricName as string | undefined) : undefined) ?? name,
        labels: labels as Labels,
        value,
      }));
    },
    render: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}

interface Series {
  readonly metricName: string;
  readonly labels: Labels;
  readonly value: number;
}

/** A tally in Prometheus' form: each bucket includes the counts of the lower ones. */
function seriesOf(name: string, labels: Labels, { bounds, counts, count, sum }: Tally): readonly Series[] {
  let below = 0;
  const buckets = bounds.map((le, i): Series => {
    below += counts[i] ?? 0;
    return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: below };
  });
  return [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: count },
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
