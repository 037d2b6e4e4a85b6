import type { ListType, MapType, StructType, Type } from '../schema/type-schema.ts';
import { FieldSet } from './field-set.ts';
import { isJsonMap, isNamed, itemElement, type JsonMap, listOf, mapOf, memberType, shapeOf } from './shape.ts';

/**
 * The paths that an applied object owns: leaves, atomic parts, items of associative lists, keys of maps, and maps that are null or empty.
 * Throws KeylessItem.
 */
export function toFieldSet(type: StructType, object: object): FieldSet {
  const set = new FieldSet();
  addValue(set, [], type, object);
  return set;
}

function addValue(set: FieldSet, path: readonly string[], type: Type, value: unknown): void {
  const shape = shapeOf(type, value);
  switch (shape.kind) {
    case 'scalar':
    case 'any':
      set.insert(path);
      return;
    case 'struct':
    case 'map':
      if (shape.atomic) set.insert(path);
      else addMembers(set, path, shape, mapOf(value) ?? {});
      return;
    case 'list':
      if (shape.listType === 'atomic') set.insert(path);
      else addItems(set, path, shape, listOf(value) ?? []);
  }
}

function addMembers(set: FieldSet, path: readonly string[], type: StructType | MapType, map: JsonMap): void {
  for (const [key, value] of Object.entries(map)) {
    const inner = memberType(type, key);
    if (inner === undefined || value === undefined) continue;
    const below = [...path, `f:${key}`];
    addValue(set, below, inner, value);
    if (value === null || (isJsonMap(value) && Object.keys(value).length === 0) || !isNamed(type, key))
      set.insert(below);
  }
}

function addItems(set: FieldSet, path: readonly string[], type: ListType, items: readonly unknown[]): void {
  const counts = new Map<string, number>();
  const elements = items.map((item) => itemElement(type, item));
  for (const element of elements) counts.set(element, (counts.get(element) ?? 0) + 1);
  for (const [index, element] of elements.entries()) {
    const below = [...path, element];
    if (counts.get(element) === 1) addValue(set, below, type.items, items[index]);
    set.insert(below);
  }
}

/** The set plus every field that the schema names and that has members below it. */
export function withNamedFields(set: FieldSet, type: Type): FieldSet {
  const out = new FieldSet();
  for (const path of set.paths()) {
    out.insert(path);
    let at: Type | undefined = type;
    for (let depth = 0; depth < path.length - 1 && at !== undefined; depth++) {
      const element = path[depth] ?? '';
      if (element.startsWith('f:') && (at.kind === 'struct' || at.kind === 'map')) {
        const key = element.slice(2);
        if (isNamed(at, key)) out.insert(path.slice(0, depth + 1));
        at = memberType(at, key);
      } else at = element.startsWith('k:') && at.kind === 'list' ? at.items : undefined;
    }
  }
  return out;
}
