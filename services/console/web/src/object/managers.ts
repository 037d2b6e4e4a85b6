import type { ManagedFieldsEntry } from '@gantry/objects';

/** A field, and who set it last as what. */
export interface ManagedField {
  /** `.spec.template.spec.containers[name="web"].image` */
  readonly path: string;
  readonly manager: string;
  readonly operation: string;
  readonly subresource: string;
  /** RFC 3339; '' when unknown. */
  readonly time: string;
}

/** The fields of all managers, sorted by path. A field with several managers is there several times. */
export function managedFieldsOf(entries: readonly ManagedFieldsEntry[] | undefined): readonly ManagedField[] {
  const out: ManagedField[] = [];
  for (const { manager = '', operation = '', subresource = '', time = '', fieldsV1 } of entries ?? [])
    for (const path of pathsOf(fieldsV1, '')) out.push({ path, manager, operation, subresource, time });
  return out.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

/** The paths of the leaves of a FieldsV1. An item or a map that is owned itself, and has more in it, is not a leaf. */
function* pathsOf(fields: unknown, prefix: string): Generator<string> {
  if (fields === null || typeof fields !== 'object') return;
  for (const [key, inner] of Object.entries(fields)) {
    if (key === '.') continue;
    const path = `${prefix}${segmentOf(key)}`;
    const isLeaf = Object.keys((inner as object | null) ?? {}).every((name) => name === '.');
    if (isLeaf) yield path;
    else yield* pathsOf(inner, path);
  }
}

/** A key of FieldsV1 as a part of a path: `f:name`, `k:{"name":"web"}`, `v:"value"`, `i:0`. */
function segmentOf(key: string): string {
  const rest = key.slice(2);
  switch (key.slice(0, 2)) {
    case 'f:':
      return /^[\w-]+$/.test(rest) ? `.${rest}` : `["${rest}"]`;
    case 'k:':
      return `[${keysOf(rest)}]`;
    case 'v:':
      return `[=${rest}]`;
    default:
      return `[${rest}]`;
  }
}

function keysOf(json: string): string {
  try {
    const keys = JSON.parse(json) as Record<string, unknown>;
    return Object.entries(keys)
      .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
      .join(',');
  } catch {
    return json;
  }
}
