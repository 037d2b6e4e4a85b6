import { memberOf, setMember } from '@gantry/objects';
import type { ListType, MapType, StructType, Type } from '../schema/type-schema.ts';
import { itemElement, type JsonMap, listOf, mapOf, memberType, shapeOf } from './shape.ts';

/**
 * `applied` merged into `live` by their type: maps member by member, associative lists item by item, all other values as applied. A null
 * replaces a leaf, but leaves maps and lists unchanged. Undefined means absent; a merge with an empty result is absent too. Does not change
 * its arguments, but shares parts with them. Throws KeylessItem.
 */
export function mergeValues(type: Type, live: unknown, applied: unknown): unknown {
  const shape = shapeOf(type, applied === undefined ? live : applied);
  switch (shape.kind) {
    case 'scalar':
    case 'any':
      return applied === undefined ? live : applied;
    case 'struct':
    case 'map': {
      const left = mapOf(live);
      const right = mapOf(applied);
      if (shape.atomic || (isEmpty(left) && isEmpty(right))) return applied === undefined ? live : applied;
      return mergeMaps(shape, left ?? {}, right ?? {});
    }
    case 'list': {
      const left = listOf(live) ?? [];
      const right = listOf(applied) ?? [];
      if (shape.listType === 'atomic' || (left.length === 0 && right.length === 0))
        return applied === undefined ? live : applied;
      return mergeLists(shape, left, right);
    }
  }
}

function isEmpty(value: object | undefined): boolean {
  return value === undefined || Object.keys(value).length === 0;
}

function mergeMaps(type: StructType | MapType, live: JsonMap, applied: JsonMap): JsonMap | undefined {
  const out: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(live), ...Object.keys(applied)])) {
    const inner = memberType(type, key);
    if (inner === undefined) continue;
    const merged = mergeValues(inner, memberOf(live, key), memberOf(applied, key));
    if (merged !== undefined) setMember(out, key, merged);
  }
  return Object.keys(out).length === 0 ? undefined : out;
}

interface Indexed {
  readonly elements: readonly string[];
  /** The item of an element; null if several items share the element. */
  readonly items: ReadonlyMap<string, unknown>;
}

function indexItems(type: ListType, list: readonly unknown[]): Indexed {
  const elements: string[] = [];
  const items = new Map<string, unknown>();
  for (const item of list) {
    const element = itemElement(type, item);
    items.set(element, items.has(element) ? null : item);
    elements.push(element);
  }
  return { elements, items };
}

/**
 * Items in both lists have the order of `applied`. Items only in `live` stay before the first shared item that they preceded. Items only in
 * `applied` follow the item that they follow there.
 */
function mergeLists(type: ListType, live: readonly unknown[], applied: readonly unknown[]): unknown[] | undefined {
  const left = indexItems(type, live);
  const right = indexItems(type, applied);
  const shared = right.elements.filter((element) => left.items.has(element));
  const taken = new Set<string>();
  const out: unknown[] = [];
  const push = (one: unknown, other: unknown) => {
    const merged = mergeValues(type.items, one, other);
    if (merged !== undefined) out.push(merged);
  };
  let at = 0;
  for (let l = 0, r = 0; l < left.elements.length || r < right.elements.length; ) {
    const mine = left.elements[l];
    const theirs = right.elements[r];
    if (mine !== undefined && theirs !== undefined) {
      if (mine === theirs) {
        taken.add(mine);
        push(left.items.get(mine), right.items.get(mine));
        l++;
        r++;
        at++;
        continue;
      }
      if (right.items.has(mine) && shared[at] !== undefined && shared[at] !== mine) {
        l++;
        continue;
      }
    }
    if (mine !== undefined) {
      if (!right.items.has(mine)) {
        push(live[l], undefined);
        l++;
        continue;
      }
      if (taken.has(mine)) l++;
    }
    if (theirs !== undefined) {
      taken.add(theirs);
      push(left.items.get(theirs), right.items.get(theirs));
      r++;
      if (shared[at] === theirs) at++;
    }
  }
  return out.length === 0 ? undefined : out;
}
