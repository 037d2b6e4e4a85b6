import {
  type ExternalMetricSource,
  formatQuantity,
  type MetricSpec,
  type MetricStatus,
  type MetricTarget,
  type ObjectMetricSource,
  type PodsMetricSource,
  type QuantityFormat,
  quantityMilli,
} from '@gantry/objects';
import { MetricError, type PodMetrics } from './metric-answers.ts';
import { type MetricReading, printSelector } from './metric-readings.ts';
import {
  type Calculation,
  type Population,
  replicasForMean,
  replicasForShare,
  replicasForUtilization,
  replicasForValue,
  sumOf,
} from './replica-calculator.ts';

/** The proposal of one metric. */
export interface Proposal {
  readonly replicas: number;
  /** The metric's name in messages. */
  readonly metric: string;
  readonly status: MetricStatus;
}

/** A metric without a proposal, and the texts of the condition and the Event about it. */
export interface Failure {
  readonly reason: string;
  /** Message of the Event and the condition. */
  readonly message: string;
  /** Message of the error that the reconcile reports. */
  readonly error: string;
}

export type Outcome = { readonly proposal: Proposal } | { readonly failure: Failure };

/** The proposal of one metric, from the pods and the reading. */
export function proposalOf(spec: MetricSpec, reading: MetricReading, population: Population): Outcome {
  const { reason, prefix } = failureOf(spec);
  try {
    return { proposal: compute(spec, reading, population) };
  } catch (error) {
    if (!(error instanceof MetricError)) throw error;
    const { message, context } = error;
    return { failure: { reason, message, error: `${prefix}${context}${message}` } };
  }
}

function failureOf({ type, resource, containerResource, external }: MetricSpec): {
  readonly reason: string;
  readonly prefix: string;
} {
  switch (type) {
    case 'Resource':
      return { reason: 'FailedGetResourceMetric', prefix: `failed to get ${resource?.name} resource metric value: ` };
    case 'ContainerResource':
      return {
        reason: 'FailedGetContainerResourceMetric',
        prefix: `failed to get ${containerResource?.container} container metric value: `,
      };
    case 'Pods':
      return { reason: 'FailedGetPodsMetric', prefix: 'failed to get pods metric value: ' };
    case 'Object':
      return { reason: 'FailedGetObjectMetric', prefix: 'failed to get object metric value: ' };
    case 'External':
      return {
        reason: 'FailedGetExternalMetric',
        prefix: `failed to get ${external?.metric.name} external metric value: `,
      };
    default:
      return { reason: 'InvalidMetricSourceType', prefix: '' };
  }
}

function compute(spec: MetricSpec, reading: MetricReading, population: Population): Proposal {
  const { type, resource, containerResource, pods, object, external } = spec;
  if (type === 'Resource' && resource !== undefined) {
    const { metric, replicas, current } = computeResource({ ...resource, container: '' }, reading, population);
    return { replicas, metric, status: { type, resource: { name: resource.name, current } } };
  }
  if (type === 'ContainerResource' && containerResource !== undefined) {
    const { name, container } = containerResource;
    const { metric, replicas, current } = computeResource(containerResource, reading, population);
    return { replicas, metric, status: { type, containerResource: { name, container, current } } };
  }
  if (type === 'Pods' && pods !== undefined) return computePods(pods, reading, population);
  if (type === 'Object' && object !== undefined) return computeObject(object, reading, population);
  if (type === 'External' && external !== undefined) return computeExternal(external, reading, population);
  throw new MetricError(`unknown metric source type ${JSON.stringify(type)}`);
}

function computeResource(
  { name, container, target }: { readonly name: string; readonly container: string; readonly target: MetricTarget },
  reading: MetricReading,
  population: Population,
) {
  const { averageValue, averageUtilization } = target;
  const format: QuantityFormat = name === 'memory' ? 'binarySI' : 'decimalSI';
  const unable = `unable to get metrics for resource ${name}: `;
  if (averageValue !== undefined) {
    const what = `failed to get ${name} usage`;
    const { replicas, usage } = within(what, () =>
      replicasForMean(population, podsOf(reading, unable), { resource: name, target: quantityMilli(averageValue) }),
    );
    return { replicas, metric: `${name} resource`, current: { averageValue: milliQuantity(usage, format) } };
  }
  if (averageUtilization === undefined) {
    throw new MetricError(
      'invalid resource metric source: neither an average utilization target nor an average value (usage) target was set',
    );
  }
  const what = `failed to get ${name} utilization`;
  const { replicas, usage, utilization } = within(what, () =>
    replicasForUtilization(population, podsOf(reading, unable), {
      resource: name,
      container,
      target: averageUtilization,
    }),
  );
  const kind = container === '' ? 'resource' : 'container resource';
  return {
    replicas,
    metric: `${name} ${kind} utilization (percentage of request)`,
    current: { averageUtilization: utilization, averageValue: milliQuantity(usage, format) },
  };
}

function computePods({ metric, target }: PodsMetricSource, reading: MetricReading, population: Population): Proposal {
  const values = podsOf(reading, `unable to get metric ${metric.name}: `);
  const wanted = { resource: '', target: quantityMilli(target.averageValue ?? '0') };
  const { replicas, usage } = replicasForMean(population, values, wanted);
  const current = { averageValue: milliQuantity(usage) };
  return { replicas, metric: `pods metric ${metric.name}`, status: { type: 'Pods', pods: { metric, current } } };
}

function computeObject(source: ObjectMetricSource, reading: MetricReading, population: Population): Proposal {
  const { describedObject, metric, target } = source;
  const status = (current: { value?: string; averageValue?: string }): MetricStatus => ({
    type: 'Object',
    object: { describedObject, metric, current },
  });
  const { kind, name } = describedObject;
  const unable = `unable to get metric ${metric.name}: ${kind} on ${population.namespace} ${name}/`;
  if (target.type === 'Value' && target.value !== undefined) {
    const value = valuesOf(reading, unable)[0] ?? 0;
    const { replicas, usage } = replicasForValue(population, value, quantityMilli(target.value));
    return { replicas, metric: `${kind} metric ${metric.name}`, status: status({ value: milliQuantity(usage) }) };
  }
  if (target.type === 'AverageValue' && target.averageValue !== undefined) {
    const value = inContext(`failed to get ${metric.name} object metric: `, () => valuesOf(reading, unable)[0] ?? 0);
    const { replicas, usage } = replicasForShare(population, value, quantityMilli(target.averageValue));
    return { replicas, metric: externalName(metric), status: status({ averageValue: milliQuantity(usage) }) };
  }
  throw new MetricError('invalid object metric source: neither a value target nor an average value target was set');
}

function computeExternal(
  { metric, target }: ExternalMetricSource,
  reading: MetricReading,
  population: Population,
): Proposal {
  const status = (current: { value?: string; averageValue?: string }): MetricStatus => ({
    type: 'External',
    external: { metric, current },
  });
  const unable = `unable to get external metric ${population.namespace}/${metric.name}/${printSelector(metric.selector)}: `;
  if (target.averageValue !== undefined) {
    const context = `failed to get ${metric.name} external metric: `;
    const usage = sumOf(inContext(context, () => valuesOf(reading, unable)));
    const share = replicasForShare(population, usage, quantityMilli(target.averageValue));
    const current = { averageValue: milliQuantity(share.usage) };
    return { replicas: share.replicas, metric: externalName(metric), status: status(current) };
  }
  if (target.value !== undefined) {
    const limit = quantityMilli(target.value);
    const { replicas, usage } = inContext(`failed to get external metric ${metric.name}: `, () =>
      replicasForValue(population, sumOf(valuesOf(reading, unable)), limit),
    );
    return { replicas, metric: externalName(metric), status: status({ value: milliQuantity(usage) }) };
  }
  throw new MetricError('invalid external metric source: neither a value target nor an average value target was set');
}

/** Kubernetes' name for external metrics, also used for the average of an object's metric. */
function externalName({ name, selector }: ExternalMetricSource['metric']): string {
  return `external metric ${name}(${printSelector(selector)})`;
}

function podsOf(reading: MetricReading, prefix: string): PodMetrics {
  if (reading.kind === 'pods') return reading.metrics;
  throw new MetricError(`${prefix}${reading.kind === 'failed' ? reading.message : 'no metrics by pod'}`);
}

function valuesOf(reading: MetricReading, prefix: string): readonly number[] {
  if (reading.kind === 'values') return reading.values;
  throw new MetricError(`${prefix}${reading.kind === 'failed' ? reading.message : 'no values'}`);
}

/** The result of a calculation. The message of a failure starts with the description `what`. */
function within(what: string, calculate: () => Calculation): Calculation {
  try {
    return calculate();
  } catch (error) {
    throw error instanceof MetricError ? new MetricError(`${what}: ${error.message}`) : error;
  }
}

/** As `within`, but the context appears only in the reconcile's error, not in the condition, as in Kubernetes. */
function inContext<T>(context: string, calculate: () => T): T {
  try {
    return calculate();
  } catch (error) {
    throw error instanceof MetricError ? new MetricError(error.message, context) : error;
  }
}

const MAX_INT64 = 2n ** 63n - 1n;

/** A quantity of thousandths. */
function milliQuantity(milli: number, format: QuantityFormat = 'decimalSI'): string {
  const exact = BigInt(milli);
  return formatQuantity({ nano: (exact > MAX_INT64 ? MAX_INT64 : exact) * 1_000_000n, format });
}
