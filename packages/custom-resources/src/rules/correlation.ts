import { equalJson } from '@gantry/objects';
import { type JsonSchema, isJsonObject, itemsOf, propertyOf, valuesOf } from '@gantry/apimachinery';

/** The old list item with the same keys; undefined if the list type does not identify items. */
export function correlateItem(schema: JsonSchema, old: unknown, item: unknown): unknown {
  if (schema['x-kubernetes-list-type'] !== 'map' || !Array.isArray(old) || !isJsonObject(item)) return undefined;
  return itemsByKeys(schema, old).get(keysOf(schema, item));
}

const indexed = new WeakMap<
  readonly unknown[],
  { readonly schema: JsonSchema; readonly items: Map<string, unknown> }
>();

/** The items of a list by their key values. For duplicates, the first one counts. */
function itemsByKeys(schema: JsonSchema, list: readonly unknown[]): ReadonlyMap<string, unknown> {
  const known = indexed.get(list);
  if (known?.schema === schema) return known.items;
  const items = new Map<string, unknown>();
  for (const item of list) {
    if (!isJsonObject(item)) continue;
    const keys = keysOf(schema, item);
    if (!items.has(keys)) items.set(keys, item);
  }
  indexed.set(list, { schema, items });
  return items;
}

function keysOf(schema: JsonSchema, item: Readonly<Record<string, unknown>>): string {
  // Keys are scalars. Absent and null differ.
  return (schema['x-kubernetes-list-map-keys'] ?? []).map((key) => JSON.stringify(item[key]) ?? 'undefined').join();
}

/** A value, its old value and its schema. */
interface Known {
  readonly value: unknown;
  readonly old: unknown;
  readonly schema: JsonSchema;
}

/** The old value of a value and of its nearest parent that has one. */
export interface Correlation {
  readonly known: Known | undefined;
  readonly parent: Known | undefined;
}

export const UNCORRELATED: Correlation = { known: undefined, parent: undefined };

/** Whether a rule's error is ignored, because the value is unchanged. */
export function isUnchanged({ known, parent }: Correlation): boolean {
  const asked = known ?? parent;
  return asked !== undefined && isSame(asked);
}

/** The correlation of a field. apiVersion and kind of the root are not compared, because they differ between versions. */
export function fieldOf(correlation: Correlation, name: string): Correlation {
  const { known, parent } = correlation;
  if (known === undefined) return correlation;
  if (parent === undefined && (name === 'apiVersion' || name === 'kind')) return UNCORRELATED;
  return { known: knownField(known, name), parent: known };
}

export function itemOf(correlation: Correlation, item: unknown): Correlation {
  const { known } = correlation;
  return known === undefined ? correlation : { known: knownItem(known, item), parent: known };
}

function knownField({ value, old, schema }: Known, name: string): Known | undefined {
  if (!isJsonObject(value) || !isJsonObject(old)) return undefined;
  const inner = propertyOf(schema, name) ?? valuesOf(schema);
  if (inner === undefined || !Object.hasOwn(value, name) || !Object.hasOwn(old, name)) return undefined;
  return { value: value[name], old: old[name], schema: inner };
}

function knownItem({ old, schema }: Known, item: unknown): Known | undefined {
  const inner = itemsOf(schema);
  const before = correlateItem(schema, old, item);
  return before === undefined || inner === undefined ? undefined : { value: item, old: before, schema: inner };
}

/** Compares by the schema, field by field; a field outside the schema counts as changed. */
function isSame(known: Known): boolean {
  const { value, old } = known;
  if (Array.isArray(value) && Array.isArray(old)) {
    if (value.length !== old.length) return false;
    if (known.schema['x-kubernetes-list-type'] !== 'map') return equalJson(value, old);
    return value.every((item) => isSameOrUnknown(knownItem(known, item)));
  }
  if (!isJsonObject(value) || !isJsonObject(old)) return equalJson(value ?? null, old ?? null);
  const names = Object.keys(value);
  return names.length === Object.keys(old).length && names.every((name) => isSameOrUnknown(knownField(known, name)));
}

function isSameOrUnknown(known: Known | undefined): boolean {
  return known !== undefined && isSame(known);
}
