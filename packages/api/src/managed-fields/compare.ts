import { equalJson } from '../object.ts';
import type { ListType, StructType, Type } from '../schema/type-schema.ts';
import { FieldSet } from './field-set.ts';

type Json = Readonly<Record<string, unknown>>;

/** An object whose lists cannot be told apart by their keys: an item lacks one. */
export class KeylessItem extends Error {
  override readonly name = 'KeylessItem';
}

/** What a write changes: paths that are new, that hold another value, and that are gone. */
export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/**
 * Compares two objects in settled shape by their schema: atomic parts as a whole, associative lists item by item.
 * A null is there, an absent field is not. Throws KeylessItem.
 */
export function compareFields(type: StructType, before: object, after: object): Comparison {
  const comparison: Comparison = { added: new FieldSet(), modified: new FieldSet(), removed: new FieldSet() };
  new Comparer(comparison).value(type, before, after);
  return comparison;
}

class Comparer {
  readonly #out: Comparison;
  readonly #path: string[] = [];

  constructor(out: Comparison) {
    this.#out = out;
  }

  value(type: Type, before: unknown, after: unknown): void {
    if (isLeaf(type, before, after)) {
      this.#leaf(before, after);
      return;
    }
    switch (type.kind) {
      case 'struct':
      case 'map':
        this.#map(type, before as Json | null | undefined, after as Json | null | undefined);
        break;
      case 'list':
        this.#list(
          type,
          before as readonly unknown[] | null | undefined,
          after as readonly unknown[] | null | undefined,
        );
        break;
      case 'scalar':
      case 'any':
        return;
    }
    if (this.#path.length === 0) return;
    if (before === undefined) this.#out.added.insert(this.#path);
    else if (after === undefined) this.#out.removed.insert(this.#path);
  }

  #leaf(before: unknown, after: unknown): void {
    if (before === undefined) this.#out.added.insert(this.#path);
    else if (after === undefined) this.#out.removed.insert(this.#path);
    else if (!equalJson(before, after)) this.#out.modified.insert(this.#path);
  }

  #map(type: Type & { kind: 'struct' | 'map' }, before: Json | null | undefined, after: Json | null | undefined): void {
    for (const key of new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])) {
      const inner = type.kind === 'map' ? type.values : type.fields.get(key)?.type;
      if (inner !== undefined) this.#within(`f:${key}`, inner, own(before, key), own(after, key));
    }
  }

  #list(
    type: ListType,
    before: readonly unknown[] | null | undefined,
    after: readonly unknown[] | null | undefined,
  ): void {
    const left = itemsByElement(type, before ?? []);
    const right = itemsByElement(type, after ?? []);
    for (const element of new Set([...left.keys(), ...right.keys()])) {
      const was = left.get(element) ?? [];
      const is = right.get(element) ?? [];
      if (was.length > 1 || is.length > 1) this.#duplicates(element, was, is);
      else this.#within(element, type.items, was[0], is[0]);
    }
  }

  /** Items that share a key cannot be told apart: they count as one leaf. */
  #duplicates(element: string, before: readonly unknown[], after: readonly unknown[]): void {
    this.#path.push(element);
    this.#leaf(before.length === 0 ? undefined : before, after.length === 0 ? undefined : after);
    this.#path.pop();
  }

  #within(element: string, type: Type, before: unknown, after: unknown): void {
    if (before === undefined && after === undefined) return;
    this.#path.push(element);
    this.value(type, before, after);
    this.#path.pop();
  }
}

function own(map: Json | null | undefined, key: string): unknown {
  return map !== null && map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}

function isLeaf(type: Type, before: unknown, after: unknown): boolean {
  switch (type.kind) {
    case 'scalar':
    case 'any':
      return true;
    case 'struct':
    case 'map':
      return type.atomic || (isEmpty(before) && isEmpty(after));
    case 'list':
      return type.listType === 'atomic' || (isEmpty(before) && isEmpty(after));
  }
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || typeof value !== 'object' || Object.keys(value).length === 0;
}

/** The items of an associative list by their path element. */
function itemsByElement(type: ListType, items: readonly unknown[]): Map<string, unknown[]> {
  const out = new Map<string, unknown[]>();
  for (const item of items) {
    const element = type.listType === 'set' ? `v:${JSON.stringify(item)}` : keyElement(type, item);
    const same = out.get(element);
    if (same === undefined) out.set(element, [item]);
    else same.push(item);
  }
  return out;
}

/** `k:{"containerPort":80,"protocol":"TCP"}`, keys sorted; absent ones have their default. Throws KeylessItem. */
export function keyElement(type: ListType, item: unknown): string {
  const entries = [...type.keys].sort().map((key): [string, unknown] => {
    const field = type.items.kind === 'struct' ? type.items.fields.get(key) : undefined;
    const value = (item !== null && typeof item === 'object' ? (item as Json)[key] : undefined) ?? field?.default;
    if (value === undefined)
      throw new KeylessItem(`associative list with keys has an element that omits key field ${JSON.stringify(key)}`);
    return [key, value];
  });
  return `k:${JSON.stringify(Object.fromEntries(entries))}`;
}
