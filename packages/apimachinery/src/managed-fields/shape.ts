import type { ListType, MapType, StructType, Type } from '../schema/type-schema.ts';

/** A JSON object. */
export type JsonMap = Readonly<Record<string, unknown>>;

/** A list item lacks a key, so the items of the list cannot be identified. */
export class KeylessItem extends Error {
  override readonly name = 'KeylessItem';
}

const LEAF: Type = { kind: 'any', goType: '' };
const DEDUCED: Type = { kind: 'any', goType: '', deduced: true };
const DEDUCED_MAP: MapType = { kind: 'map', goType: '', values: DEDUCED, atomic: false };

/** The type by which a value is processed. For a deduced type: a map if the value is a map or null, else a leaf. */
export function shapeOf(type: Type, value: unknown): Type {
  if (type.kind !== 'any' || type.deduced !== true) return type;
  return value === null || isJsonMap(value) ? DEDUCED_MAP : LEAF;
}

/** The type of a member; undefined for one that the schema does not know. */
export function memberType(type: StructType | MapType, key: string): Type | undefined {
  if (type.kind === 'map') return type.values;
  return type.fields.get(key)?.type ?? (type.preserveUnknownFields === true ? DEDUCED : undefined);
}

/** Whether the schema names this member. */
export function isNamed(type: StructType | MapType, key: string): boolean {
  return type.kind === 'struct' && type.fields.has(key);
}

export function isJsonMap(value: unknown): value is JsonMap {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** The value as a map; undefined for null and other values. */
export function mapOf(value: unknown): JsonMap | undefined {
  return isJsonMap(value) ? value : undefined;
}

/** The value as a list; undefined for null and other values. */
export function listOf(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? (value as readonly unknown[]) : undefined;
}

/** The path element of an item of an associative list. Throws KeylessItem, in Kubernetes' words. */
export function itemElement(type: ListType, item: unknown): string {
  return type.listType === 'set' ? setElement(item) : keyElement(type, item);
}

function setElement(item: unknown): string {
  if (Array.isArray(item)) throw new KeylessItem('not supported: associative list with lists as elements');
  if (item === null) throw new KeylessItem("associative list without keys has an element that's an explicit null");
  if (typeof item === 'object') throw new KeylessItem("associative list without keys has an element that's a map type");
  return `v:${JSON.stringify(item)}`;
}

const sortedKeys = new WeakMap<ListType, readonly string[]>();

/** The element `k:{"containerPort":80,"protocol":"TCP"}`, with keys sorted. An absent key has its default, or is left out. */
function keyElement(type: ListType, item: unknown): string {
  if (item === null) throw new KeylessItem('associative list with keys may not have a null element');
  if (!isJsonMap(item)) throw new KeylessItem('associative list with keys may not have non-map elements');
  let keys = sortedKeys.get(type);
  if (keys === undefined) {
    keys = type.keys.toSorted();
    sortedKeys.set(type, keys);
  }
  const key: Record<string, unknown> = {};
  let found = false;
  for (const name of keys) {
    const value = Object.hasOwn(item, name) && item[name] !== undefined ? item[name] : defaultOf(type, name);
    if (value === undefined) continue;
    key[name] = value;
    found = true;
  }
  if (found) return `k:${JSON.stringify(key)}`;
  const names = type.keys.map((name) => JSON.stringify(name)).join(' ');
  throw new KeylessItem(
    `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
  );
}

function defaultOf(type: ListType, name: string): unknown {
  return type.items.kind === 'struct' ? type.items.fields.get(name)?.default : undefined;
}
