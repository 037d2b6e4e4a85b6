import type { ApiObject, FieldsV1 } from '../history/api-objects.ts';

/** A field that an applier owned before a write and does not after it. */
export interface LostField {
  readonly manager: string;
  readonly path: string;
  /** Appliers that own it after the write. */
  readonly owners: ReadonlySet<string>;
}

/** Paths of the fields that each applier owns, by manager and subresource. */
function appliedFields(object: ApiObject | undefined): Map<string, Set<string>> {
  const fields = new Map<string, Set<string>>();
  for (const { manager = '', operation, subresource = '', fieldsV1 } of object?.metadata?.managedFields ?? []) {
    if (operation === 'Apply') fields.set(`${manager}\n${subresource}`, new Set(leaves(fieldsV1 ?? {}, '')));
  }
  return fields;
}

function* leaves(fields: FieldsV1, path: string): Generator<string> {
  const entries = Object.entries(fields);
  if (entries.length === 0 && path !== '') yield path;
  for (const [name, inner] of entries) yield* leaves(inner, `${path}.${name}`);
}

/** What appliers lose by a write. */
export function lostFields(before: ApiObject | undefined, after: ApiObject | undefined): readonly LostField[] {
  const now = appliedFields(after);
  const nameOf = (id: string) => id.split('\n')[0] ?? '';
  return [...appliedFields(before)].flatMap(([id, paths]) =>
    [...paths].flatMap((path) => {
      if (now.get(id)?.has(path) === true) return [];
      const owners = new Set([...now].flatMap(([other, owned]) => (owned.has(path) ? [nameOf(other)] : [])));
      return [{ manager: nameOf(id), path, owners }];
    }),
  );
}

/** Whether a manager has applied anything that it still owns. */
export function isApplier(object: ApiObject | undefined, manager: string): boolean {
  return object?.metadata?.managedFields?.some((one) => one.manager === manager && one.operation === 'Apply') === true;
}
