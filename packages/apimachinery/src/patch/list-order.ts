import { isPlainObject } from './merge-patch.ts';

/** An element of a list that is being patched. */
export type Item = unknown;

function keyOf(item: Item, mergeKey: string): unknown {
  return mergeKey !== '' && isPlainObject(item) ? item[mergeKey] : item;
}

/** Splits items into those that `list` contains (by merge key or value) and the others. */
export function splitByPresence(items: readonly Item[], list: readonly Item[], mergeKey: string) {
  const named = new Set(list.map((item) => keyOf(item, mergeKey)));
  return {
    present: items.filter((item) => named.has(keyOf(item, mergeKey))),
    absent: items.filter((item) => !named.has(keyOf(item, mergeKey))),
  };
}

export interface ListParts {
  readonly patched: readonly Item[];
  readonly serverOnly: readonly Item[];
  readonly patchOrder: readonly Item[];
  readonly serverOrder: readonly Item[];
}

/**
 * Merges both parts into one list. Patched items are in the patch's order, the others in the server's order. A server item precedes a
 * patched item only if it did so on the server.
 */
export function normalizeOrder(parts: ListParts, mergeKey: string): Item[] {
  const patchPlaces = places(parts.patchOrder, mergeKey);
  const serverPlaces = places(parts.serverOrder, mergeKey);
  const patched = sorted(parts.patched, patchPlaces, mergeKey);
  const serverOnly = sorted(parts.serverOnly, serverPlaces, mergeKey);
  const out: Item[] = [];
  let left = 0;
  for (const item of patched) {
    const place = serverPlaces.get(keyOf(item, mergeKey));
    while (left < serverOnly.length && place !== undefined) {
      const other = serverPlaces.get(keyOf(serverOnly[left], mergeKey));
      if (other === undefined || other >= place) break;
      out.push(serverOnly[left++]);
    }
    out.push(item);
  }
  return [...out, ...serverOnly.slice(left)];
}

function places(list: readonly Item[], mergeKey: string): ReadonlyMap<unknown, number> {
  const out = new Map<unknown, number>();
  for (const [index, item] of list.entries()) {
    const key = keyOf(item, mergeKey);
    if (!out.has(key)) out.set(key, index);
  }
  return out;
}

function sorted(items: readonly Item[], order: ReadonlyMap<unknown, number>, mergeKey: string): Item[] {
  const placeOf = (item: Item) => order.get(keyOf(item, mergeKey)) ?? Number.MAX_SAFE_INTEGER;
  return [...items].sort((a, b) => placeOf(a) - placeOf(b));
}
