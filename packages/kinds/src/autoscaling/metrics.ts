import { append } from '@gantry/base';
import {
  type FieldError,
  type HorizontalPodAutoscalerSpec as Spec,
  type MetricIdentifier,
  type MetricSpec,
  type MetricTarget,
  dns1123Label,
  forbidden,
  invalid,
  notSupported,
  parseQuantity,
  pathSegment,
  required,
} from '@gantry/objects';
import { type ApiVersionRule, validateReference } from './scale-target.ts';
import { validateResourceName } from '../pod-spec/compute-resources.ts';
import { invalidAll } from '@gantry/apimachinery';

type Source = Exclude<keyof MetricSpec, 'type'>;

const TYPES = ['ContainerResource', 'External', 'Object', 'Pods', 'Resource'];
/** Sources in Kubernetes' order: only the first one present is checked. */
const SOURCES: readonly Source[] = ['object', 'external', 'pods', 'resource', 'containerResource'];
const TARGETS = ['Utilization', 'Value', 'AverageValue'];

/** Checks the metrics of an autoscaler. */
export function validateMetrics(spec: Partial<Spec>, rule: ApiVersionRule, path: string): FieldError[] {
  const metrics = spec.metrics ?? [];
  const errors = metrics.flatMap((metric, i) => validateMetric(metric, rule, `${path}[${i}]`));
  const sleeps = metrics.some(({ type }) => type === 'Object' || type === 'External');
  if (spec.minReplicas === 0 && !sleeps) {
    const detail = 'must specify at least one Object or External metric to support scaling to zero replicas';
    errors.push(forbidden(path, detail));
  }
  return errors;
}

function validateMetric(metric: MetricSpec, rule: ApiVersionRule, path: string): FieldError[] {
  const { type = '' } = metric;
  const errors: FieldError[] = [];
  const isKnown = TYPES.includes(type);
  if (type === '') errors.push(required(`${path}.type`, 'must specify a metric source type'));
  if (!isKnown) errors.push(notSupported(`${path}.type`, type, TYPES));
  const present = SOURCES.filter((source) => metric[source] !== undefined);
  const [first] = present;
  if (first !== undefined) append(errors, validateSource(metric, first, rule, `${path}.${first}`));
  if (!isKnown) errors.push(notSupported(`${path}.type`, type, TYPES));
  const expected = `${type.charAt(0).toLowerCase()}${type.slice(1)}`;
  if (isKnown && !present.some((source) => source === expected)) {
    errors.push(required(`${path}.${expected}`, 'must populate information for the given metric source'));
  }
  if (present.length === 1) return errors;
  const others = present.filter((source) => !isKnown || source !== expected);
  return [
    ...errors,
    ...others.map((source) => forbidden(`${path}.${source}`, 'must populate the given metric source only')),
  ];
}

function validateSource(metric: MetricSpec, source: Source, rule: ApiVersionRule, path: string): FieldError[] {
  const { object, external, pods, resource, containerResource } = metric;
  const at = `${path}.target`;
  const target: Partial<MetricTarget> = metric[source]?.target ?? {};
  const checked = validateTarget(target, at);
  const isValued = target.value !== undefined;
  const isAveraged = target.averageValue !== undefined;
  switch (source) {
    case 'object':
      return [
        ...validateReference(object?.describedObject, rule, `${path}.describedObject`),
        ...validateIdentifier(object?.metric, `${path}.metric`),
        ...checked,
        ...(isValued || isAveraged
          ? []
          : [required(`${at}.averageValue`, 'must set either a target value or averageValue')]),
      ];
    case 'external':
      return [
        ...validateIdentifier(external?.metric, `${path}.metric`),
        ...checked,
        ...(isValued || isAveraged
          ? []
          : [required(`${at}.averageValue`, 'must set either a target value for metric or a per-pod target')]),
        ...(isValued && isAveraged
          ? [forbidden(`${at}.value`, 'may not set both a target value for metric and a per-pod target')]
          : []),
      ];
    case 'pods':
      return [
        ...validateIdentifier(pods?.metric, `${path}.metric`),
        ...checked,
        ...(isAveraged ? [] : [required(`${at}.averageValue`, 'must specify a positive target averageValue')]),
      ];
    case 'resource':
      return [...validateResource(resource?.name ?? '', path), ...checked, ...validateRawOrShare(target, at)];
    case 'containerResource': {
      const { name = '', container = '' } = containerResource ?? {};
      return [
        ...validateResource(name, path),
        ...(name === '' ? [] : validateResourceName(name, `${path}.name`)),
        ...(container === ''
          ? [required(`${path}.container`, 'must specify a container')]
          : invalidAll(`${path}.container`, container, dns1123Label(container))),
        ...checked,
        ...validateRawOrShare(target, at),
      ];
    }
  }
}

function validateResource(name: string, path: string): FieldError[] {
  return name === '' ? [required(`${path}.name`, 'must specify a resource name')] : [];
}

function validateRawOrShare({ averageUtilization, averageValue }: Partial<MetricTarget>, path: string): FieldError[] {
  if (averageUtilization === undefined && averageValue === undefined) {
    return [required(`${path}.averageUtilization`, 'must set either a target raw value or a target utilization')];
  }
  return averageUtilization !== undefined && averageValue !== undefined
    ? [forbidden(`${path}.averageValue`, 'may not set both a target raw value and a target utilization')]
    : [];
}

function validateTarget(target: Partial<MetricTarget>, path: string): FieldError[] {
  const { type = '', value, averageValue, averageUtilization } = target;
  const errors: FieldError[] = [];
  if (type === '') errors.push(required(`${path}.type`, 'must specify a metric target type'));
  if (!TARGETS.includes(type)) {
    errors.push(invalid(`${path}.type`, type, 'must be either Utilization, Value, or AverageValue'));
  }
  for (const [field, amount] of [
    ['value', value],
    ['averageValue', averageValue],
  ] as const) {
    if (amount !== undefined && parseQuantity(amount).nano <= 0n) {
      errors.push(invalid(`${path}.${field}`, amount, 'must be positive'));
    }
  }
  if (averageUtilization !== undefined && averageUtilization < 1) {
    errors.push(invalid(`${path}.averageUtilization`, averageUtilization, 'must be greater than 0'));
  }
  return errors;
}

function validateIdentifier(metric: MetricIdentifier | undefined, path: string): FieldError[] {
  const name = metric?.name ?? '';
  return name === ''
    ? [required(`${path}.name`, 'must specify a metric name')]
    : invalidAll(`${path}.name`, name, pathSegment(name, false));
}
