import type { Instant } from '@gantry/base';
import type { KubeObject } from '@gantry/objects';
import type { Column, FieldDescription } from './resource-definition.ts';

/** Refers to the description that Kubernetes publishes for a field: `describedAs('core.v1.PodSpec', 'nodeName')`. */
export function describedAs(schema: string, field: string): FieldDescription {
  return { schema, field };
}

/** The first column of every table. */
export const nameColumn: Column = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: describedAs('meta.v1.ObjectMeta', 'name'),
  priority: 0,
  value: (object) => object.metadata.name ?? '',
};

/** How long ago the object was created. */
export const ageColumn: Column = {
  name: 'Age',
  type: 'string',
  description: describedAs('meta.v1.ObjectMeta', 'creationTimestamp'),
  priority: 0,
  value: (object, now) => formatAge(object.metadata.creationTimestamp, now),
};

/** When the object was created: the second column of kinds for which Kubernetes defines no columns. */
export const createdAtColumn: Column = {
  name: 'Created At',
  type: 'date',
  description: describedAs('meta.v1.ObjectMeta', 'creationTimestamp'),
  priority: 0,
  value: (object) => object.metadata.creationTimestamp ?? '',
};

/** A column of a kind; its type is `string` when `type` is absent. */
export function column<T extends KubeObject>(
  name: string,
  description: Column['description'],
  value: Column<T>['value'],
  options: { readonly type?: Column['type']; readonly wide?: 'wide' } = {},
): Column<T> {
  return { name, type: options.type ?? 'string', description, priority: options.wide === undefined ? 0 : 1, value };
}

/**
 * A column that shows a field, with the description of that field in `schema`, which Kubernetes publishes; a kind with its own schema uses
 * `column`. `path` is the path from the object: `spec.nodeName`. `none` is shown when the field is absent.
 */
export function fieldColumn(
  name: string,
  schema: string,
  path: string,
  options: { readonly type?: Column['type']; readonly wide?: 'wide'; readonly none?: string | number | boolean } = {},
): Column {
  const fields = path.split('.');
  const { none = '', ...rest } = options;
  const read = (value: unknown, field: string): unknown => (value as Record<string, unknown> | undefined)?.[field];
  const value = (object: KubeObject) => (fields.reduce(read, object) as string | number | boolean | undefined) ?? none;
  return column(name, describedAs(schema, fields.at(-1) ?? ''), value, rest);
}

/** The age of a timestamp as tables print it; `<unknown>` without a timestamp. */
export function formatAge(timestamp: string | undefined, now: Instant): string {
  if (timestamp === undefined || timestamp === '') return '<unknown>';
  return formatDuration(now - Date.parse(timestamp));
}

/** A duration with at most two units: `5s`, `4m10s`, `3h`, `2d4h`, `1y20d`. */
export function formatDuration(durationMs: number): string {
  const seconds = Math.trunc(durationMs / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 192) return two(days, 'd', hours % 24, 'h');
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  if (days < 2920) return two(years, 'y', days % 365, 'd');
  return `${years}y`;
}

function two(big: number, bigUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${big}${bigUnit}` : `${big}${bigUnit}${small}${smallUnit}`;
}
