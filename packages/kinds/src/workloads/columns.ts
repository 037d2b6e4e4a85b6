import type { KubeObject, LabelSelector, PodTemplateSpec } from '@gantry/objects';
import { type Column, column, formatLabelSelector } from '@gantry/apimachinery';

interface Workload extends KubeObject {
  spec?: { selector?: LabelSelector; template?: PodTemplateSpec };
}

interface Replicated extends KubeObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly readyReplicas?: number };
}

/** Ready pods of desired pods: `1/3`. */
export const readyColumn: Column<Replicated> = column(
  'Ready',
  'Number of the pod with ready state',
  ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
);

/** The wide columns of kinds with a pod template; `selector` is the description of the last column. */
export function workloadColumns(selector: string): readonly Column<Workload>[] {
  return [
    ...templateColumns,
    column('Selector', selector, ({ spec }) => formatLabelSelector(spec?.selector), { wide: 'wide' }),
  ];
}

/** Names and images of the template's containers. */
export const templateColumns: readonly Column<Workload>[] = [
  column('Containers', 'Names of each container in the template.', (object) => containers(object, 'name'), {
    wide: 'wide',
  }),
  column('Images', 'Images referenced by each container in the template.', (object) => containers(object, 'image'), {
    wide: 'wide',
  }),
];

function containers(object: Workload, field: 'name' | 'image'): string {
  return formatContainers(object.spec?.template, field);
}

/** Names or images of a template's containers, comma-separated. */
export function formatContainers(template: PodTemplateSpec | undefined, field: 'name' | 'image'): string {
  return (template?.spec?.containers ?? []).map((container) => container[field] ?? '').join(',');
}

/** Labels as tables print them: sorted and comma-separated; `<none>` without labels. */
export function formatLabels(labels: Readonly<Record<string, string>> | undefined): string {
  const text = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return text.length === 0 ? '<none>' : text.sort().join(',');
}
