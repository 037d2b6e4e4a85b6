import { append } from '@gantry/base';
import { type FieldError, duplicate, invalid } from '@gantry/objects';
import { type JsonSchema, isJsonObject, itemsOf, parseJson, propertyOf, valuesOf } from '@gantry/apimachinery';

/** Errors for duplicate items in lists of type set or map. */
export function validateUniqueItems(value: unknown, schema: JsonSchema | undefined, path = ''): FieldError[] {
  if (schema === undefined) return [];
  if (Array.isArray(value)) return validateList(value, schema, path);
  if (!isJsonObject(value)) return [];
  const values = valuesOf(schema);
  return Object.keys(value).flatMap((key) => [
    ...(values === undefined ? [] : validateUniqueItems(value[key], values, `${path}[${key}]`)),
    ...validateUniqueItems(value[key], propertyOf(schema, key), path === '' ? key : `${path}.${key}`),
  ]);
}

function validateList(value: readonly unknown[], schema: JsonSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const type = schema['x-kubernetes-list-type'];
  if (type === 'set')
    append(
      errors,
      repeated(value).map((i) => duplicate(`${path}[${i}]`, parseJson(stableText(value[i])))),
    );
  if (type === 'map') append(errors, validateMap(value, schema, path));
  const items = itemsOf(schema);
  return [...errors, ...value.flatMap((item, i) => validateUniqueItems(item, items, `${path}[${i}]`))];
}

function validateMap(value: readonly unknown[], schema: JsonSchema, path: string): FieldError[] {
  const wrong = value.findIndex((item) => item !== null && !isJsonObject(item));
  if (wrong >= 0)
    return [invalid(`${path}[${wrong}]`, value[wrong], 'must be an object for an array of list-type map')];
  const names = (schema['x-kubernetes-list-map-keys'] ?? []).toSorted();
  const keys = value.map((item) => {
    const of = isJsonObject(item) ? item : {};
    return Object.fromEntries(names.filter((name) => Object.hasOwn(of, name)).map((name) => [name, of[name]]));
  });
  return repeated(keys).map((i) => duplicate(`${path}[${i}]`, keys[i]));
}

/** Whether the list contains two equal items, compared as JSON. */
export function hasRepeated(values: readonly unknown[]): boolean {
  return repeated(values).length > 0;
}

/** The indexes at which a value occurs for the second time. */
function repeated(values: readonly unknown[]): readonly number[] {
  const seen = new Map<string, number>();
  return values.flatMap((value, i) => {
    const text = stableText(value);
    const times = (seen.get(text) ?? 0) + 1;
    seen.set(text, times);
    return times === 2 ? [i] : [];
  });
}

/** The value as JSON with sorted keys, as Go prints it. */
function stableText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stableText).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value) ?? 'undefined';
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${stableText(value[key])}`).join(',')}}`;
}
