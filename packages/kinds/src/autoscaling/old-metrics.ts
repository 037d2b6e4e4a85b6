import type {
  CrossVersionObjectReference as ObjectReference,
  LabelSelector,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from '@gantry/objects';

/** The parts of a metric as autoscaling/v1 writes it into annotations; each metric type has some of them. */
interface OldSource {
  readonly target?: ObjectReference;
  readonly metricName?: string;
  readonly name?: string;
  readonly container?: string;
  readonly selector?: LabelSelector;
  readonly metricSelector?: LabelSelector;
  readonly targetValue?: string;
  readonly targetAverageValue?: string;
  readonly targetAverageUtilization?: number;
  readonly averageValue?: string;
  readonly currentValue?: string;
  readonly currentAverageValue?: string;
  readonly currentAverageUtilization?: number;
}

/** A metric, or its present value, as autoscaling/v1 writes it. */
export interface OldMetric {
  readonly type: string;
  readonly object?: OldSource;
  readonly pods?: OldSource;
  readonly resource?: OldSource;
  readonly containerResource?: OldSource;
  readonly external?: OldSource;
}

/** An object without the members that are undefined. */
function compact<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as T;
}

function reference({ kind, name, apiVersion }: ObjectReference): ObjectReference {
  return compact({ kind, name, apiVersion });
}

function identifier({ metricName = '', selector, metricSelector }: OldSource) {
  return compact({ name: metricName, selector: selector ?? metricSelector });
}

export function specToOld({ type, object, pods, resource, containerResource, external }: MetricSpec): OldMetric {
  return compact({
    type,
    object:
      object &&
      compact({
        target: reference(object.describedObject),
        metricName: object.metric.name,
        targetValue: object.target.value ?? '0',
        selector: object.metric.selector,
        averageValue: object.target.averageValue,
      }),
    pods:
      pods &&
      compact({
        metricName: pods.metric.name,
        targetAverageValue: pods.target.averageValue ?? '0',
        selector: pods.metric.selector,
      }),
    resource: resource && resourceToOld(resource.name, resource.target),
    containerResource: containerResource && {
      ...resourceToOld(containerResource.name, containerResource.target),
      container: containerResource.container,
    },
    external:
      external &&
      compact({
        metricName: external.metric.name,
        metricSelector: external.metric.selector,
        targetValue: external.target.value,
        targetAverageValue: external.target.averageValue,
      }),
  });
}

function resourceToOld(name: string, { averageUtilization, averageValue }: MetricTarget): OldSource {
  return compact({ name, targetAverageUtilization: averageUtilization, targetAverageValue: averageValue });
}

export function specFromOld({ type, object, pods, resource, containerResource, external }: OldMetric): MetricSpec {
  return compact({
    type,
    object: object && {
      describedObject: reference(object.target ?? { kind: '', name: '' }),
      metric: identifier(object),
      target: objectTarget(object),
    },
    pods: pods && {
      metric: identifier(pods),
      target: { type: 'AverageValue', averageValue: pods.targetAverageValue ?? '0' },
    },
    resource: resource && { name: resource.name ?? '', target: resourceTarget(resource) },
    containerResource: containerResource && {
      name: containerResource.name ?? '',
      container: containerResource.container ?? '',
      target: resourceTarget(containerResource),
    },
    external: external && {
      metric: identifier(external),
      target: compact({
        type: external.targetValue === undefined ? 'AverageValue' : 'Value',
        value: external.targetValue,
        averageValue: external.targetAverageValue,
      }),
    },
  });
}

/** v1 cannot omit the value: zero together with an average means no value. */
function objectTarget({ targetValue = '0', averageValue }: OldSource): MetricTarget {
  if (averageValue === undefined) return { type: 'Value', value: targetValue };
  return compact({
    type: 'AverageValue',
    value: targetValue === '0' ? undefined : targetValue,
    averageValue,
  });
}

function resourceTarget({ targetAverageUtilization, targetAverageValue }: OldSource): MetricTarget {
  return compact({
    type: targetAverageUtilization === undefined ? 'AverageValue' : 'Utilization',
    averageValue: targetAverageValue,
    averageUtilization: targetAverageUtilization,
  });
}

export function statusToOld({ type, object, pods, resource, containerResource, external }: MetricStatus): OldMetric {
  return compact({
    type,
    object:
      object &&
      compact({
        target: reference(object.describedObject),
        metricName: object.metric.name,
        currentValue: object.current.value ?? '0',
        selector: object.metric.selector,
        averageValue: object.current.averageValue,
      }),
    pods:
      pods &&
      compact({
        metricName: pods.metric.name,
        currentAverageValue: pods.current.averageValue ?? '0',
        selector: pods.metric.selector,
      }),
    resource: resource && resourceStatusToOld(resource.name, resource.current),
    containerResource: containerResource && {
      ...resourceStatusToOld(containerResource.name, containerResource.current),
      container: containerResource.container,
    },
    external:
      external &&
      compact({
        metricName: external.metric.name,
        metricSelector: external.metric.selector,
        currentValue: external.current.value ?? '0',
        currentAverageValue: external.current.averageValue,
      }),
  });
}

function resourceStatusToOld(name: string, { averageUtilization, averageValue }: MetricValueStatus): OldSource {
  return compact({
    name,
    currentAverageUtilization: averageUtilization,
    currentAverageValue: averageValue ?? '0',
  });
}

export function statusFromOld({ type, object, pods, resource, containerResource, external }: OldMetric): MetricStatus {
  return compact({
    type,
    object: object && {
      describedObject: reference(object.target ?? { kind: '', name: '' }),
      metric: identifier(object),
      current: compact({ value: object.currentValue ?? '0', averageValue: object.averageValue }),
    },
    pods: pods && { metric: identifier(pods), current: { averageValue: pods.currentAverageValue ?? '0' } },
    resource: resource && { name: resource.name ?? '', current: resourceCurrent(resource) },
    containerResource: containerResource && {
      name: containerResource.name ?? '',
      container: containerResource.container ?? '',
      current: resourceCurrent(containerResource),
    },
    external: external && {
      metric: identifier(external),
      current: compact({ value: external.currentValue ?? '0', averageValue: external.currentAverageValue }),
    },
  });
}

function resourceCurrent({ currentAverageValue = '0', currentAverageUtilization }: OldSource): MetricValueStatus {
  return compact({
    averageValue: currentAverageValue,
    averageUtilization: currentAverageUtilization,
  });
}
