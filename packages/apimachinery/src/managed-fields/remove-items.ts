import { setMember } from '@gantry/objects';
import type { ListType, MapType, StructType, Type } from '../schema/type-schema.ts';
import { FieldSet } from './field-set.ts';
import { isJsonMap, itemElement, type JsonMap, listOf, mapOf, memberType, shapeOf } from './shape.ts';

const NOTHING = new FieldSet();

/** The value without the members and items in `toRemove`. Maps and lists that lose all content stay as empty ones. */
export function removeItems(type: Type, value: unknown, toRemove: FieldSet): unknown {
  const shape = shapeOf(type, value);
  switch (shape.kind) {
    case 'scalar':
    case 'any':
      return value;
    case 'struct':
    case 'map':
      return shape.atomic ? null : removeMembers(shape, mapOf(value) ?? {}, toRemove);
    case 'list':
      return shape.listType === 'atomic' ? null : removeListItems(shape, listOf(value) ?? [], toRemove);
  }
}

function removeMembers(type: StructType | MapType, map: JsonMap, toRemove: FieldSet): JsonMap | null {
  const out: Record<string, unknown> = {};
  let touched = false;
  for (const [key, value] of Object.entries(map)) {
    const element = `f:${key}`;
    if (toRemove.has([element])) continue;
    const below = toRemove.below(element) ?? NOTHING;
    const inner = memberType(type, key);
    if (below.empty || inner === undefined) setMember(out, key, value);
    else {
      touched = true;
      setMember(out, key, removeBelow(inner, value, below));
    }
  }
  return touched || Object.keys(out).length > 0 ? out : null;
}

function removeListItems(type: ListType, items: readonly unknown[], toRemove: FieldSet): unknown[] | null {
  const out: unknown[] = [];
  let touched = false;
  for (const item of items) {
    const element = itemElement(type, item);
    if (toRemove.has([element])) continue;
    const below = toRemove.below(element) ?? NOTHING;
    if (below.empty) out.push(item);
    else {
      touched = true;
      out.push(removeBelow(type.items, item, below));
    }
  }
  return touched || out.length > 0 ? out : null;
}

function removeBelow(type: Type, value: unknown, below: FieldSet): unknown {
  const left = removeItems(type, value, below);
  if (left !== null) return left;
  return isJsonMap(value) ? {} : Array.isArray(value) ? [] : null;
}
