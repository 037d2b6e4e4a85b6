import { type FieldError, duplicate } from '@gantry/objects';

/** The error for a list with too many entries; its entries are not checked. */
export function tooMany(field: string, count: number, max: number): FieldError {
  return {
    type: 'FieldValueTooMany',
    field,
    detail: `must have at most ${max} item${max === 1 ? '' : 's'}`,
    value: count,
  };
}

/** Checks each entry of a list of at most `max` entries. */
export function validateEach<T>(
  list: readonly T[] | undefined,
  max: number,
  path: string,
  each: (item: T, path: string) => readonly FieldError[],
): FieldError[] {
  const items = list ?? [];
  if (items.length > max) return [tooMany(path, items.length, max)];
  return items.flatMap((item, i) => each(item, `${path}[${i}]`));
}

/** The key that identifies an entry of a list. Errors show `printed`, or the key when absent. */
export interface EntryKey<T> {
  readonly of: (item: T) => string;
  readonly printed?: (item: T) => unknown;
}

/** The same for entries that must have different keys. */
export function validateDistinct<T>(
  list: readonly T[] | undefined,
  max: number,
  path: string,
  each: (item: T, path: string) => readonly FieldError[],
  key: EntryKey<T>,
): FieldError[] {
  const items = list ?? [];
  const errors = validateEach(items, max, path, each);
  if (items.length > max) return errors;
  const seen = new Set<string>();
  items.forEach((item, i) => {
    const text = key.of(item);
    if (seen.has(text)) errors.push(duplicate(`${path}[${i}]`, key.printed === undefined ? text : key.printed(item)));
    seen.add(text);
  });
  return errors;
}

/** Checks keys and values of a map of at most `max` entries. Long keys are shortened in paths. */
export function validateEntries<T>(
  map: Readonly<Record<string, T>> | undefined,
  limits: { readonly max: number; readonly keyLength: number },
  path: string,
  validateKey: (key: string, path: string) => readonly FieldError[],
  each: (item: T, path: string) => readonly FieldError[],
): FieldError[] {
  const entries = Object.entries(map ?? {});
  if (entries.length > limits.max) return [tooMany(path, entries.length, limits.max)];
  return entries.flatMap(([key, item]) => [
    ...validateKey(key, path),
    ...each(item, `${path}[${shortened(key, limits.keyLength)}]`),
  ]);
}

function shortened(text: string, length: number): string {
  const max = Math.max(16, length);
  if (text.length <= max) return text;
  const rest = max - 3;
  return `${text.slice(0, Math.floor((rest + 1) / 2))}...${text.slice(text.length - Math.floor(rest / 2))}`;
}
