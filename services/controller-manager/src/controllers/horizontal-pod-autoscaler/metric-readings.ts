import {
  type CrossVersionObjectReference,
  labelSelectorFrom,
  type LabelSelector,
  type MetricSpec,
} from '@gantry/objects';
import type { PodMetrics } from './metric-answers.ts';

/** The request for the values of one metric. */
export type MetricQuery =
  | { readonly api: 'resource'; readonly resource: string; readonly container: string }
  | { readonly api: 'pods'; readonly metric: string; readonly metricSelector: string }
  | {
      readonly api: 'object';
      readonly metric: string;
      readonly metricSelector: string;
      readonly object: CrossVersionObjectReference;
    }
  | { readonly api: 'external'; readonly metric: string; readonly metricSelector: string };

/** The result of a query. The message of a failure is Kubernetes'. */
export type MetricReading =
  | { readonly kind: 'pods'; readonly metrics: PodMetrics }
  /** In thousandths. */
  | { readonly kind: 'values'; readonly values: readonly number[] }
  | { readonly kind: 'failed'; readonly message: string };

/** The query of a metric; undefined for an unknown type. */
export function queryOf({
  type,
  resource,
  containerResource,
  pods,
  object,
  external,
}: MetricSpec): MetricQuery | undefined {
  switch (type) {
    case 'Resource':
      return { api: 'resource', resource: resource?.name ?? '', container: '' };
    case 'ContainerResource':
      return {
        api: 'resource',
        resource: containerResource?.name ?? '',
        container: containerResource?.container ?? '',
      };
    case 'Pods':
      return { api: 'pods', ...metricOf(pods?.metric) };
    case 'Object':
      return { api: 'object', ...metricOf(object?.metric), object: object?.describedObject ?? { kind: '', name: '' } };
    case 'External':
      return { api: 'external', ...metricOf(external?.metric) };
    default:
      return undefined;
  }
}

function metricOf(metric: { readonly name: string; readonly selector?: LabelSelector } | undefined): {
  readonly metric: string;
  readonly metricSelector: string;
} {
  return { metric: metric?.name ?? '', metricSelector: labelSelectorFrom(metric?.selector).toString() };
}

/** A selector as Go prints it, as in Kubernetes' metric names and messages. */
export function printSelector(selector: LabelSelector | undefined): string {
  if (selector === undefined) return 'nil';
  const labels = Object.entries(selector.matchLabels ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}: ${value},`);
  const expressions = (selector.matchExpressions ?? []).map(
    ({ key, operator, values }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${(values ?? []).join(' ')}],},`,
  );
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join('')}},MatchExpressions:[]LabelSelectorRequirement{${expressions.join('')}},}`;
}
