import { equalJson, type Json, type JsonObject } from '@gantry/objects';
import { ITEM, type Schema, type SchemaLookup } from './schema.ts';

/** The field manager of what people apply here. */
export const MANAGER = 'gantry-console';

interface Owned {
  readonly [key: string]: Owned;
}

/**
 * The smallest configuration for server-side apply that makes `edited` of `base`: the changed fields, and those that this manager applied
 * before (leaving one out would remove it). Applying everything would make this manager the owner of all fields, which then conflict with
 * everybody else's next change.
 */
export function applyConfiguration(
  base: JsonObject,
  edited: JsonObject,
  lookup: SchemaLookup | undefined,
  owned: Owned = {},
): JsonObject {
  const { apiVersion = null, kind = null, metadata } = edited;
  const { name = null, namespace } = (metadata ?? {}) as JsonObject;
  const changes = changesOf(base, edited, lookup?.resolve(lookup.root), lookup, owned) as JsonObject | undefined;
  const identity = { name, ...(namespace === undefined ? {} : { namespace }) };
  return {
    ...changes,
    apiVersion,
    kind,
    metadata: { ...(changes?.['metadata'] as JsonObject | undefined), ...identity },
  };
}

function changesOf(
  base: Json | undefined,
  edited: Json,
  schema: Schema | undefined,
  lookup: SchemaLookup | undefined,
  owned: Owned | undefined,
): Json | undefined {
  const isOwned = owned !== undefined && Object.keys(owned).every((key) => key === '.');
  if (isMap(edited)) {
    const out: JsonObject = {};
    for (const [key, value] of Object.entries(edited)) {
      const before = isMap(base) ? base[key] : undefined;
      const change = changesOf(before, value, lookup?.member(schema, key), lookup, owned?.[`f:${key}`]);
      if (change !== undefined) out[key] = change;
    }
    return Object.keys(out).length > 0 || !isMap(base) || isOwned ? out : undefined;
  }
  const keys = schema?.['x-kubernetes-list-type'] === 'map' ? schema['x-kubernetes-list-map-keys'] : undefined;
  if (Array.isArray(edited) && keys !== undefined) {
    const out = edited.flatMap((item) => {
      const before = Array.isArray(base) ? base.find((other) => hasSameKeys(item, other, keys)) : undefined;
      const ownedItem = Object.entries(owned ?? {}).find(([key]) => isItem(key, item));
      const change = changesOf(before, item, lookup?.member(schema, ITEM), lookup, ownedItem?.[1]);
      return change === undefined ? [] : [{ ...keysOf(item, keys), ...(change as JsonObject) }];
    });
    return out.length > 0 || base === undefined || isOwned ? out : undefined;
  }
  return isOwned || !equalJson(base, edited) ? edited : undefined;
}

function isMap(value: Json | undefined): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function keysOf(item: Json, keys: readonly string[]): JsonObject {
  const map = isMap(item) ? item : {};
  return Object.fromEntries(keys.flatMap((key) => (map[key] === undefined ? [] : [[key, map[key]]])));
}

function hasSameKeys(one: Json, other: Json, keys: readonly string[]): boolean {
  return equalJson(keysOf(one, keys), keysOf(other, keys));
}

/** Whether a key of FieldsV1 (`k:{"name":"web"}`) is that of an item. */
function isItem(key: string, item: Json): boolean {
  if (!key.startsWith('k:') || !isMap(item)) return false;
  const wanted = JSON.parse(key.slice(2)) as JsonObject;
  return Object.entries(wanted).every(([name, value]) => equalJson(item[name], value));
}

/** Fields of `base` that `edited` no longer has, by path. Items of lists are not looked into. */
export function removedFields(base: Json | undefined, edited: Json | undefined, prefix = ''): readonly string[] {
  if (!isMap(base)) return [];
  return Object.entries(base).flatMap(([key, value]) => {
    const path = `${prefix}.${key}`;
    const after = isMap(edited) ? edited[key] : undefined;
    return after === undefined ? [path] : removedFields(value, after, path);
  });
}
