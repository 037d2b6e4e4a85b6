import type { HorizontalPodAutoscaler, KubeObject, MetricSpec, MetricStatus } from '@gantry/objects';
import { describedAs, type Column, ageColumn, column, nameColumn } from '@gantry/apimachinery';

const SHOWN = 2;
const UNKNOWN = '<unknown>';

/** The columns of a version of autoscalers, read through its form in autoscaling/v2. */
export function autoscalerColumns<T extends KubeObject>(
  view: (object: T) => HorizontalPodAutoscaler,
): readonly Column<T>[] {
  return [
    nameColumn,
    column(
      'Reference',
      'scaleTargetRef points to the target resource to scale, and is used to the pods for which metrics should be collected, as well as to actually change the replica count.',
      (object) => {
        const { kind, name } = view(object).spec.scaleTargetRef;
        return `${kind}/${name}`;
      },
    ),
    column('Targets', describedAs('autoscaling.v2.HorizontalPodAutoscalerSpec', 'metrics'), (object) =>
      formatMetrics(view(object)),
    ),
    column('MinPods', describedAs('autoscaling.v2.HorizontalPodAutoscalerSpec', 'minReplicas'), (object) =>
      String(view(object).spec.minReplicas ?? '<unset>'),
    ),
    column(
      'MaxPods',
      describedAs('autoscaling.v2.HorizontalPodAutoscalerSpec', 'maxReplicas'),
      (object) => view(object).spec.maxReplicas,
    ),
    column(
      'Replicas',
      describedAs('autoscaling.v2.HorizontalPodAutoscalerStatus', 'currentReplicas'),
      (object) => view(object).status?.currentReplicas ?? 0,
    ),
    ageColumn,
  ];
}

function formatMetrics({ spec, status }: HorizontalPodAutoscaler): string {
  const metrics = spec.metrics ?? [];
  if (metrics.length === 0) return '<none>';
  const list = metrics.map((metric, i) => formatMetric(metric, status?.currentMetrics?.[i]));
  const text = list.slice(0, SHOWN).join(', ');
  return list.length > SHOWN ? `${text} + ${list.length - SHOWN} more...` : text;
}

function formatMetric(metric: MetricSpec, now: MetricStatus | undefined): string {
  switch (metric.type) {
    case 'External':
      return formatValue(metric.external?.target, now?.external?.current);
    case 'Object':
      return formatValue(metric.object?.target, now?.object?.current);
    case 'Pods':
      return `${now?.pods?.current.averageValue ?? UNKNOWN}/${metric.pods?.target.averageValue ?? ''}`;
    case 'Resource':
      return `${metric.resource?.name ?? ''}: ${formatShare(metric.resource?.target, now?.resource?.current)}`;
    case 'ContainerResource': {
      const { name = '', target } = metric.containerResource ?? {};
      return `${name}: ${formatShare(target, now?.containerResource?.current)}`;
    }
    default:
      return '<unknown type>';
  }
}

type Target = NonNullable<MetricSpec['pods']>['target'];
type Current = NonNullable<MetricStatus['pods']>['current'];

function formatValue(target: Target | undefined, now: Current | undefined): string {
  return target?.averageValue === undefined
    ? `${now?.value ?? UNKNOWN}/${target?.value ?? ''}`
    : `${now?.averageValue ?? UNKNOWN}/${target.averageValue} (avg)`;
}

function formatShare(target: Target | undefined, now: Current | undefined): string {
  if (target?.averageValue !== undefined) return `${now?.averageValue ?? UNKNOWN}/${target.averageValue}`;
  const current = now?.averageUtilization === undefined ? UNKNOWN : `${now.averageUtilization}%`;
  const wanted = target?.averageUtilization === undefined ? '<auto>' : `${target.averageUtilization}%`;
  return `${current}/${wanted}`;
}
