import {
  type AutoscalingHorizontalPodAutoscaler as AutoscalerV1,
  type HPAScalingRules as ScalingRules,
  type HorizontalPodAutoscaler as AutoscalerV2,
  type HorizontalPodAutoscalerBehavior as Behavior,
  type HorizontalPodAutoscalerCondition as Condition,
  type MetricSpec,
  type MetricStatus,
  cloneJson,
} from '@gantry/objects';
import { type OldMetric, specFromOld, specToOld, statusFromOld, statusToOld } from './old-metrics.ts';

/**
 * autoscaling/v1 has only the CPU metric and stores the other fields of autoscaling/v2 in annotations. As in Kubernetes, annotations with
 * invalid JSON are dropped.
 */
const METRICS = 'autoscaling.alpha.kubernetes.io/metrics';
const CURRENT_METRICS = 'autoscaling.alpha.kubernetes.io/current-metrics';
const CONDITIONS = 'autoscaling.alpha.kubernetes.io/conditions';
const BEHAVIOR = 'autoscaling.alpha.kubernetes.io/behavior';
export const CARRIED = [
  METRICS,
  BEHAVIOR,
  'autoscaling.alpha.kubernetes.io/scale-down-tolerance',
  'autoscaling.alpha.kubernetes.io/scale-up-tolerance',
  CURRENT_METRICS,
  CONDITIONS,
];
/** The target of an autoscaler without metrics. */
const DEFAULT_CPU_PERCENT = 80;

/** The metric for `targetCPUUtilizationPercentage`. */
export function cpuMetric(averageUtilization: number = DEFAULT_CPU_PERCENT): MetricSpec {
  return { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } };
}

/** The target CPU percentage of a metric, if v1 can express it. */
function cpuTarget({ type, resource }: MetricSpec): number | undefined {
  return type === 'Resource' && resource?.name === 'cpu' ? resource.target.averageUtilization : undefined;
}

export function toV2(object: AutoscalerV1): AutoscalerV2 {
  const { spec, status } = cloneJson(object);
  const { targetCPUUtilizationPercentage: share, ...rest } = spec ?? {};
  const annotations = object.metadata.annotations ?? {};
  const own = share === undefined ? [] : [cpuMetric(share)];
  const metrics = [...(parseList(annotations[METRICS]) ?? []).map(specFromOld), ...own];
  const behavior = parseBehavior(annotations[BEHAVIOR]);
  const { currentCPUUtilizationPercentage: current, currentReplicas, ...counts } = status ?? {};
  const currentMetrics: readonly MetricStatus[] =
    parseList(annotations[CURRENT_METRICS])?.map(statusFromOld) ??
    (current === undefined
      ? []
      : [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: current } } }]);
  const conditions = parseList(annotations[CONDITIONS]) as Condition[] | undefined;
  return {
    kind: object.kind,
    apiVersion: 'autoscaling/v2',
    metadata: withAnnotations(object, {}),
    spec: {
      ...(rest as AutoscalerV2['spec']),
      metrics: metrics.length === 0 ? [cpuMetric()] : metrics,
      ...(behavior === undefined ? {} : { behavior }),
    },
    status: {
      ...(counts as NonNullable<AutoscalerV2['status']>),
      ...((currentReplicas ?? 0) === 0 ? {} : { currentReplicas }),
      ...(currentMetrics.length === 0 ? {} : { currentMetrics: [...currentMetrics] }),
      ...(conditions === undefined ? {} : { conditions }),
    },
  };
}

export function toV1(object: AutoscalerV2): AutoscalerV1 {
  const { spec, status } = cloneJson(object);
  const { metrics: given, behavior, ...rest } = spec ?? {};
  const { currentMetrics: currently, conditions: noted, ...counts } = status ?? {};
  // Lists that Go always writes are null when empty.
  const [metrics, currentMetrics, conditions] = [given ?? [], currently ?? [], noted ?? []];
  const share = metrics.map(cpuTarget).find((value) => value !== undefined);
  const others = metrics.filter((metric) => cpuTarget(metric) === undefined);
  const current = currentMetrics
    .filter(({ type, resource }) => type === 'Resource' && resource?.name === 'cpu')
    .map(({ resource }) => resource?.current.averageUtilization)
    .findLast((value) => value !== undefined);
  return {
    kind: object.kind,
    apiVersion: 'autoscaling/v1',
    metadata: withAnnotations(object, {
      [METRICS]: others.length === 0 ? undefined : others.map(specToOld),
      [CURRENT_METRICS]: currentMetrics.length === 0 ? undefined : currentMetrics.map(statusToOld),
      [BEHAVIOR]: behavior === undefined ? undefined : printBehavior(behavior),
      [CONDITIONS]: conditions.length === 0 ? undefined : conditions.map(printCondition),
    }),
    spec: {
      ...(rest as AutoscalerV1['spec']),
      ...(share === undefined ? {} : { targetCPUUtilizationPercentage: share }),
    },
    status: {
      ...(counts as NonNullable<AutoscalerV1['status']>),
      // This version always writes it.
      currentReplicas: status?.currentReplicas ?? 0,
      ...(current === undefined ? {} : { currentCPUUtilizationPercentage: current }),
    },
  };
}

/** The metadata with these annotations instead of those carried before. */
function withAnnotations({ metadata }: AutoscalerV1 | AutoscalerV2, carried: Readonly<Record<string, unknown>>) {
  const { annotations: _, ...rest } = cloneJson(metadata);
  const kept = Object.entries(metadata.annotations ?? {}).filter(([key]) => !CARRIED.includes(key));
  const added = Object.entries(carried).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, JSON.stringify(value)] as const],
  );
  const annotations = Object.fromEntries([...kept, ...added]);
  return Object.keys(annotations).length === 0 ? rest : { ...rest, annotations };
}

function parseJson(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function parseList(text: string | undefined): OldMetric[] | undefined {
  const value = parseJson(text);
  const isList = Array.isArray(value) && value.every((item) => item !== null && typeof item === 'object');
  return isList ? (value as OldMetric[]) : undefined;
}

/** The behavior is stored under Go's field names, in their order. */
function printBehavior({ scaleUp, scaleDown }: Behavior): object {
  return { ScaleUp: printRules(scaleUp), ScaleDown: printRules(scaleDown) };
}

function printRules(rules: ScalingRules | undefined): object | null {
  if (rules === undefined) return null;
  const { stabilizationWindowSeconds, selectPolicy, policies, tolerance } = rules;
  return {
    StabilizationWindowSeconds: stabilizationWindowSeconds ?? null,
    SelectPolicy: selectPolicy ?? null,
    Policies:
      policies?.map(({ type, value, periodSeconds }) => ({ Type: type, Value: value, PeriodSeconds: periodSeconds })) ??
      null,
    Tolerance: tolerance ?? null,
  };
}

function printCondition({ type, status, lastTransitionTime, reason, message }: Condition): object {
  return { type, status, lastTransitionTime: lastTransitionTime ?? null, reason, message };
}

function parseBehavior(text: string | undefined): Behavior | undefined {
  const value = parseJson(text);
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined;
  const behavior = withLowerNames(value) as Behavior;
  return Object.keys(behavior).length === 0 ? undefined : behavior;
}

function withLowerNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withLowerNames);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== null)
      .map(([key, item]) => [key.charAt(0).toLowerCase() + key.slice(1), withLowerNames(item)]),
  );
}
