import { errorMessage, type Instant, parseGoDurationMs } from '@gantry/base';
import { type JsonObject, quantityMilli } from '@gantry/objects';

/** The measured value of one pod. */
interface PodMetric {
  /** In thousandths: millicores, thousandths of a byte. */
  readonly value: number;
  readonly at: Instant;
  readonly windowMs: number;
}

/** By the pod's name. */
export type PodMetrics = ReadonlyMap<string, PodMetric>;

/** The measuring window of custom metrics that do not specify one. */
const DEFAULT_WINDOW_MS = 60_000;

/** The usage of a resource by pod, or by one container of each, from a PodMetricsList. Throws MetricError. */
export function resourceMetrics(list: JsonObject, resource: string, container: string): PodMetrics {
  const items = itemsOf(list);
  if (items.length === 0) throw new MetricError('no metrics returned from resource metrics API');
  const metrics = new Map<string, PodMetric>();
  for (const item of items) {
    const containers = objects(item.containers);
    const chosen = container === '' ? containers : containers.filter(({ name }) => name === container).slice(0, 1);
    const usages = chosen.map(({ usage }) => (usage as JsonObject | undefined)?.[resource]);
    if (usages.length === 0 || usages.includes(undefined)) continue;
    const value = usages.reduce<number>((sum, usage) => sum + milli(usage), 0);
    metrics.set(nameIn(item.metadata), {
      value,
      at: timeOf(item),
      windowMs: parseGoDurationMs(String(item.window)) ?? 0,
    });
  }
  return metrics;
}

/** The values of a custom metric by pod, from a MetricValueList. Throws MetricError. */
export function podsMetrics(list: JsonObject): PodMetrics {
  const items = itemsOf(list);
  if (items.length === 0) throw new MetricError('no metrics returned from custom metrics API');
  return new Map(
    items.map((item) => {
      const seconds = item.windowSeconds ?? item.window;
      const windowMs = typeof seconds === 'number' ? seconds * 1000 : DEFAULT_WINDOW_MS;
      return [nameIn(item.describedObject), { value: milliOf(item), at: timeOf(item), windowMs }];
    }),
  );
}

/** The value of a custom metric of one object, in thousandths, from a MetricValueList. Throws MetricError. */
export function objectMetric(list: JsonObject): number {
  const [item, ...more] = itemsOf(list);
  if (item === undefined || more.length > 0) {
    throw new MetricError(
      `unable to fetch metrics from custom metrics API: the custom metrics API server returned ${itemsOf(list).length} results when we asked for exactly one`,
    );
  }
  return milliOf(item);
}

/** The values of an external metric, in thousandths, from an ExternalMetricValueList. Throws MetricError. */
export function externalMetric(list: JsonObject): readonly number[] {
  const items = itemsOf(list);
  if (items.length === 0) throw new MetricError('no metrics returned from external metrics API');
  return items.map(milliOf);
}

function itemsOf(list: JsonObject): readonly JsonObject[] {
  return objects(list.items);
}

/** The objects of a list that another server sent. */
function objects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value)
    ? value.filter((item): item is JsonObject => typeof item === 'object' && item !== null)
    : [];
}

function nameIn(part: unknown): string {
  return String((part as JsonObject | undefined)?.name ?? '');
}

function milliOf({ value }: JsonObject): number {
  return milli(value ?? '0');
}

/** A quantity from another server in thousandths. Throws MetricError. */
function milli(quantity: unknown): number {
  try {
    return quantityMilli(String(quantity));
  } catch (error) {
    throw new MetricError(errorMessage(error));
  }
}

function timeOf({ timestamp }: JsonObject): Instant {
  return Date.parse(String(timestamp));
}

/** A metric from which no replica count can be computed; the message is Kubernetes'. Thrown and caught only in this folder. */
export class MetricError extends Error {
  override readonly name = 'MetricError';
  /** Prefix of the message in the reconcile's error; conditions and Events do not contain it. */
  readonly context: string;

  constructor(message: string, context = '') {
    super(message);
    this.context = context;
  }
}
