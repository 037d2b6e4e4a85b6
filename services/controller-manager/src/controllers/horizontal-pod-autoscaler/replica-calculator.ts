import type { Instant } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import { MetricError, type PodMetrics } from './metric-answers.ts';
import { countReady, groupPods, requestsOf } from './pod-groups.ts';
import type { Tolerances } from './scaling-rules.ts';

/** The pods under the selector, and the counts in the scale. */
export interface Population {
  readonly namespace: string;
  readonly pods: readonly Pod[];
  /** As the scale's spec has it. */
  readonly specReplicas: number;
  /** As the scale's status has it. */
  readonly statusReplicas: number;
  readonly tolerances: Tolerances;
  readonly now: Instant;
}

/** A replica count, and the usage from which it was computed, in thousandths. */
export interface Calculation {
  readonly replicas: number;
  readonly usage: number;
  /** In percent of the requests. */
  readonly utilization?: number;
}

const MAX_INT32 = 2 ** 31 - 1;
/** Sums saturate, as in Kubernetes. */
const MAX_INT64 = 2 ** 63;

/** The replicas at which pods use `target` percent of their request for a resource. Throws MetricError. */
export function replicasForUtilization(
  population: Population,
  metrics: PodMetrics,
  { resource, container, target }: { readonly resource: string; readonly container: string; readonly target: number },
): Calculation {
  const grouped = group(population, metrics, resource);
  const requests = requestsOf(population.pods, resource, container);
  const ratioOf = (values: ReadonlyMap<string, number>) => utilizationRatio(values, requests, target);
  const { ratio, usage, utilization } = ratioOf(grouped.values);
  const replicas = replicasForRatio(population, grouped, ratio, (values) => ratioOf(values).ratio, {
    // When scaling down, a pod without metrics counts as using its whole request.
    missing: (name) => Math.trunc(((requests.get(name) ?? 0) * Math.max(100, target)) / 100),
  });
  return { replicas, usage, utilization };
}

/** The replicas at which the mean of the pods' values is `target`, in thousandths. Throws MetricError. */
export function replicasForMean(
  population: Population,
  metrics: PodMetrics,
  { resource, target }: { readonly resource: string; readonly target: number },
): Calculation {
  const grouped = group(population, metrics, resource);
  const usage = meanOf(grouped.values);
  const ratioOf = (values: ReadonlyMap<string, number>) => meanOf(values) / target;
  const replicas = replicasForRatio(population, grouped, usage / target, ratioOf, { missing: () => target });
  return { replicas, usage };
}

/** The replicas at which a value shared by all pods is `target`. Without pods, the ratio alone decides. Throws MetricError. */
export function replicasForValue(population: Population, usage: number, target: number): Calculation {
  const { specReplicas, pods, tolerances } = population;
  const ratio = usage / target;
  if (specReplicas === 0) return { replicas: ceil32(ratio), usage };
  if (isWithin(tolerances, ratio)) return { replicas: specReplicas, usage };
  if (pods.length === 0) {
    throw new MetricError(
      'unable to calculate ready pods: no pods returned by selector while calculating replica count',
    );
  }
  return { replicas: ceil32(ratio * countReady(pods)), usage };
}

/** The replicas at which each pod's part of a value is `target`. The usage is per pod. */
export function replicasForShare(population: Population, usage: number, target: number): Calculation {
  const { statusReplicas, tolerances } = population;
  const ratio = usage / (target * statusReplicas);
  const replicas = isWithin(tolerances, ratio) ? statusReplicas : ceil32(usage / target);
  return { replicas, usage: usage >= MAX_INT64 ? MAX_INT64 : shareOf(usage, statusReplicas) };
}

/** The usage per replica. With no replicas it is unknown, but a status needs a number: the largest one of the same sign. */
function shareOf(usage: number, replicas: number): number {
  if (replicas > 0) return Math.ceil(usage / replicas);
  return usage === 0 ? 0 : Math.sign(usage) * MAX_INT64;
}

/** The sum of the values of an external metric. */
export function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => Math.min(sum + value, MAX_INT64), 0);
}

interface Grouped {
  /** Values of the pods that count, in thousandths. */
  readonly values: ReadonlyMap<string, number>;
  readonly readyCount: number;
  readonly unready: ReadonlySet<string>;
  readonly missing: ReadonlySet<string>;
}

function group({ pods, now }: Population, metrics: PodMetrics, resource: string): Grouped {
  if (pods.length === 0) throw new MetricError('no pods returned by selector while calculating replica count');
  const { ignored, unready, missing, readyCount } = groupPods(pods, metrics, resource, now);
  const values = new Map(
    [...metrics].flatMap(([name, { value }]) =>
      ignored.has(name) || unready.has(name) ? [] : [[name, value] as const],
    ),
  );
  if (values.size === 0) {
    throw new MetricError('did not receive metrics for targeted pods (pods might be unready)');
  }
  return { values, readyCount, unready, missing };
}

/**
 * The count for a ratio of usage to target. Pods without measurements damp the change: they count as at their target when scaling down and
 * as idle when scaling up, and they never reverse the direction of a change.
 */
function replicasForRatio(
  { specReplicas: current, tolerances }: Population,
  { values, readyCount, unready, missing }: Grouped,
  ratio: number,
  ratioOf: (values: ReadonlyMap<string, number>) => number,
  assumed: { readonly missing: (pod: string) => number },
): number {
  const addsWithUnready = unready.size > 0 && ratio > 1;
  if (!addsWithUnready && missing.size === 0) {
    return isWithin(tolerances, ratio) ? current : ceil32(ratio * readyCount);
  }
  const damped = new Map(values);
  if (ratio !== 1) for (const name of missing) damped.set(name, ratio < 1 ? assumed.missing(name) : 0);
  if (addsWithUnready) for (const name of unready) damped.set(name, 0);
  const newRatio = ratioOf(damped);
  const turns = (ratio < 1 && newRatio > 1) || (ratio > 1 && newRatio < 1);
  if (isWithin(tolerances, newRatio) || turns) return current;
  const replicas = ceil32(newRatio * damped.size);
  const countTurns = (newRatio < 1 && replicas > current) || (newRatio > 1 && replicas < current);
  return countTurns ? current : replicas;
}

function isWithin({ down, up }: Tolerances, ratio: number): boolean {
  return 1 - down <= ratio && ratio <= 1 + up;
}

function utilizationRatio(
  values: ReadonlyMap<string, number>,
  requests: ReadonlyMap<string, number>,
  target: number,
): { readonly ratio: number; readonly utilization: number; readonly usage: number } {
  const known = [...values].filter(([name]) => requests.has(name));
  const used = known.reduce((sum, [, value]) => sum + value, 0);
  const requested = known.reduce((sum, [name]) => sum + (requests.get(name) ?? 0), 0);
  if (requested === 0) throw new MetricError('no metrics returned matched known pods');
  const utilization = Math.trunc((used * 100) / requested);
  return { ratio: utilization / target, utilization, usage: Math.trunc(used / known.length) };
}

function meanOf(values: ReadonlyMap<string, number>): number {
  return Math.trunc([...values.values()].reduce((sum, value) => sum + value, 0) / values.size);
}

/** Rounds up, limited to the maximum replica count. */
function ceil32(value: number): number {
  return Math.min(Math.ceil(value), MAX_INT32);
}
