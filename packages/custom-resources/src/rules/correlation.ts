import { equalJson } from '@gantry/objects';
import { type JsonSchema, isJsonObject, itemsOf, propertyOf, valuesOf } from '@gantry/apimachinery';

/** The old item of a list that has the same keys; undefined when lists of this kind tell no item from another. */
export function correlateItem(schema: JsonSchema, old: unknown, item: unknown): unknown {
  if (schema['x-kubernetes-list-type'] !== 'map' || !Array.isArray(old) || !isJsonObject(item)) return undefined;
  return itemsByKeys(schema, old).get(keysOf(schema, item));
}

const indexed = new WeakMap<
  readonly unknown[],
  { readonly schema: JsonSchema; readonly items: Map<string, unknown> }
>();

/** The items of a list by the values of their keys. Of items with the same the first counts. */
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
  // Keys are scalars. What is absent and null differ.
  return (schema['x-kubernetes-list-map-keys'] ?? []).map((key) => JSON.stringify(item[key]) ?? 'undefined').join();
}

/** A value with what it was before, by its schema. */
interface Known {
  readonly value: unknown;
  readonly old: unknown;
  readonly schema: JsonSchema;
}

/** What is known of a value's past: its own, and that of the nearest around it that has one. */
export interface Correlation {
  readonly known: Known | undefined;
  readonly parent: Known | undefined;
}

export const UNCORRELATED: Correlation = { known: undefined, parent: undefined };

/** Whether a rule's word against the value is to be let be, since the value was there before. */
export function isUnchanged({ known, parent }: Correlation): boolean {
  const asked = known ?? parent;
  return asked !== undefined && isSame(asked);
}

/** The correlation of a field. What versions differ in anyway is not compared. */
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

/** Field by field as far as the schema goes: a field that it does not name counts as changed. */
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
