import type { LabelSelector, PodTemplateSpec } from '../generated/types.ts';
import type { KubeObject } from '../object.ts';
import type { Column } from '../resource.ts';
import { column } from './columns.ts';
import { formatLabelSelector } from './rules/labels.ts';

interface Workload extends KubeObject {
  spec?: { selector?: LabelSelector; template?: PodTemplateSpec };
}

/** The wide columns of everything that makes pods from a template. */
export const workloadColumns: readonly Column<Workload>[] = [
  column('Containers', 'Names of the containers.', (object) => containers(object, 'name'), { wide: 'wide' }),
  column('Images', 'Images of the containers.', (object) => containers(object, 'image'), { wide: 'wide' }),
  column('Selector', 'Which pods are meant.', ({ spec }) => formatLabelSelector(spec?.selector), { wide: 'wide' }),
];

function containers(object: Workload, field: 'name' | 'image'): string {
  return formatContainers(object.spec?.template, field);
}

/** Names or images of a template's containers, with commas. */
export function formatContainers(template: PodTemplateSpec | undefined, field: 'name' | 'image'): string {
  return (template?.spec?.containers ?? []).map((container) => container[field] ?? '').join(',');
}

/** Labels as tables print them: sorted, with commas; `<none>` when there are none. */
export function formatLabels(labels: Readonly<Record<string, string>> | undefined): string {
  const text = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return text.length === 0 ? '<none>' : text.sort().join(',');
}
