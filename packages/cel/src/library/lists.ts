import { declareFunction as declare, type FunctionDeclaration } from '../environment/function-declaration.ts';
import { flattenedSize } from '../cost/result-sizes.ts';
import { add } from '../values/arithmetic.ts';
import { ArrayList, elementsOf, entriesOf, EntryMap } from '../values/collections.ts';
import { compareValues, equalValues } from '../values/compare.ts';
import { MAX_ELEMENTS, TOO_MANY_ELEMENTS } from '../values/size-limits.ts';
import {
  CelDuration,
  CelError,
  CelList,
  CelMap,
  CelOptional,
  type CelResult,
  CelUint,
  type CelValue,
  isError,
} from '../values/value.ts';

const ORDERED = ['int', 'uint', 'double', 'bool', 'duration', 'timestamp', 'string', 'bytes'];
const FULL: Readonly<Record<string, string>> = {
  duration: 'google.protobuf.Duration',
  timestamp: 'google.protobuf.Timestamp',
};

const over = (call: (elements: readonly CelValue[], ...rest: CelValue[]) => CelResult) => {
  return (list: CelValue, ...rest: CelValue[]) => call(elementsOf(list as CelList), ...rest);
};

function isSorted(elements: readonly CelValue[]): CelResult {
  for (let index = 1; index < elements.length; index++) {
    const order = compareValues(elements[index - 1] ?? null, elements[index] ?? null);
    if (isError(order)) return order;
    if (order > 0) return false;
  }
  return true;
}

function sum(zero: CelValue): (elements: readonly CelValue[]) => CelResult {
  return (elements) => {
    let total: CelResult = zero;
    for (const element of elements) {
      if (isError(total)) return total;
      total = add(total, element);
    }
    return total;
  };
}

function extreme(name: string, sign: number): (elements: readonly CelValue[]) => CelResult {
  return (elements) => {
    let best = elements[0];
    if (best === undefined) return new CelError(`${name} called on empty list`);
    for (const element of elements.slice(1)) {
      const order = compareValues(element, best);
      if (isError(order)) return order;
      if (order * sign > 0) best = element;
    }
    return best;
  };
}

function sortBy(elements: readonly CelValue[], keys: readonly CelValue[]): CelResult {
  const kinds = new Set(keys.map((key) => (key instanceof Object ? key.constructor : typeof key)));
  if (kinds.size > 1) return new CelError('list elements must have the same type');
  const indices = elements.map((_, index) => index);
  const failed = keys.map((key) => compareValues(key, key)).find(isError);
  if (failed !== undefined) return new CelError('list elements must be comparable');
  indices.sort((a, b) => compareValues(keys[a] ?? null, keys[b] ?? null) as number);
  return new ArrayList(indices.map((index) => elements[index] ?? null));
}

function slice(elements: readonly CelValue[], from: CelValue, to: CelValue): CelResult {
  const [start, end] = [from as bigint, to as bigint];
  const refuse = (why: string) => new CelError(`cannot slice(${start}, ${end}), ${why}`);
  if (start < 0n || end < 0n) return refuse('negative indexes not supported');
  if (start > end) return refuse('start index must be less than or equal to end index');
  if (end > BigInt(elements.length)) return refuse(`list is length ${elements.length}`);
  return new ArrayList(elements.slice(Number(start), Number(end)));
}

function flatten(list: CelValue, depth: CelValue = 1n): CelResult {
  const level = depth as bigint;
  if (level < 0n) return new CelError('level must be non-negative');
  if (flattenedSize(list, level) > MAX_ELEMENTS) return TOO_MANY_ELEMENTS;
  return new ArrayList(flattened(elementsOf(list as CelList), level));
}

function flattened(elements: readonly CelValue[], level: bigint): readonly CelValue[] {
  return elements.flatMap((element): readonly CelValue[] => {
    if (!(element instanceof CelList) || level === 0n) return [element];
    return level === 1n ? elementsOf(element) : flattened(elementsOf(element), level - 1n);
  });
}

function distinct(elements: readonly CelValue[]): CelResult {
  const held: CelValue[] = [];
  for (const element of elements) if (!held.some((other) => equalValues(element, other))) held.push(element);
  return new ArrayList(held);
}

function range(count: CelValue): CelResult {
  const size = count as bigint;
  if (size > MAX_ELEMENTS) return new CelError(`lists.range: size ${size} exceeds ${MAX_ELEMENTS}`);
  return new ArrayList(Array.from({ length: Math.max(0, Number(size)) }, (_, index) => BigInt(index)));
}

function insertAll(map: CelValue, entries: CelValue): CelResult {
  let result: EntryMap | CelError = map instanceof EntryMap ? map : EntryMap.of(pairsOf(map));
  for (const [key, value] of pairsOf(entries)) {
    if (isError(result)) return result;
    result = result.with(key, value);
  }
  return result;
}

function pairsOf(map: CelValue): readonly (readonly [CelValue, CelValue])[] {
  const entries = map instanceof CelMap ? entriesOf(map) : [];
  return isError(entries) ? [] : entries;
}

function insert(map: CelValue, key: CelValue, value: CelValue): CelResult {
  const held = map instanceof EntryMap ? map : EntryMap.of(pairsOf(map));
  return isError(held) ? held : held.with(key, value);
}

const holds = (list: readonly CelValue[], element: CelValue) => list.some((other) => equalValues(element, other));
const sets = (call: (left: readonly CelValue[], right: readonly CelValue[]) => boolean) => {
  return (left: CelValue, right: CelValue) => call(elementsOf(left as CelList), elementsOf(right as CelList));
};
const SETS = '(list(T), list(T)) -> bool';

const each = (
  types: readonly string[],
  id: (type: string) => string,
  signature: (type: string) => string,
  call: FunctionDeclaration['overloads'][number]['call'],
) => types.map((type) => [id(type), signature(type), call] as const);

const asIs = (list: CelValue) => elementsOf(list as CelList);
const optionalAt = (at: (size: number) => number) => (list: CelValue) =>
  new CelOptional((list as CelList).at(at((list as CelList).size)));

/** Functions over lists, and those that macros on maps expand to. */
export const LISTS: readonly FunctionDeclaration[] = [
  declare(
    'isSorted',
    ...each(
      ORDERED,
      (type) => `list_${type}_is_sorted_bool`,
      (type) => `list(${type}).() -> bool`,
      over(isSorted),
    ),
  ),
  declare(
    'sum',
    ['list_int_sum_int', 'list(int).() -> int', over(sum(0n))],
    ['list_uint_sum_uint', 'list(uint).() -> uint', over(sum(new CelUint(0n)))],
    ['list_double_sum_double', 'list(double).() -> double', over(sum(0))],
    ['list_duration_sum_duration', 'list(duration).() -> duration', over(sum(new CelDuration(0n)))],
  ),
  declare(
    'max',
    ...each(
      ORDERED,
      (type) => `list_${type}_max_${type}`,
      (type) => `list(${type}).() -> ${type}`,
      over(extreme('max', 1)),
    ),
  ),
  declare(
    'min',
    ...each(
      ORDERED,
      (type) => `list_${type}_min_${type}`,
      (type) => `list(${type}).() -> ${type}`,
      over(extreme('min', -1)),
    ),
  ),
  declare('indexOf', [
    'list_a_index_of_int',
    'list(A).(A) -> int',
    over((elements, wanted = null) => BigInt(elements.findIndex((element) => equalValues(element, wanted)))),
  ]),
  declare('lastIndexOf', [
    'list_a_last_index_of_int',
    'list(A).(A) -> int',
    over((elements, wanted = null) => BigInt(elements.findLastIndex((element) => equalValues(element, wanted)))),
  ]),
  declare('slice', [
    'list_slice',
    'list(T).(int, int) -> list(T)',
    over((elements, from = 0n, to = 0n) => slice(elements, from, to)),
  ]),
  declare(
    'flatten',
    ['list_flatten', 'list(list(T)).() -> list(T)', (list) => flatten(list)],
    ['list_flatten_int', 'list(dyn).(int) -> list(dyn)', (list, depth) => flatten(list, depth)],
  ),
  declare('distinct', ['list_distinct', 'list(T).() -> list(T)', over(distinct)]),
  declare('reverse', [
    'list_reverse',
    'list(T).() -> list(T)',
    over((elements) => new ArrayList(elements.toReversed())),
  ]),
  declare(
    'sort',
    ...each(
      ORDERED,
      (type) => `list_${FULL[type] ?? type}_sort`,
      (type) => `list(${type}).() -> list(${type})`,
      over((elements) => sortBy(elements, elements)),
    ),
  ),
  declare(
    '@sortByAssociatedKeys',
    ...each(
      ORDERED,
      (type) => `list_${FULL[type] ?? type}_sortByAssociatedKeys`,
      (type) => `list(T).(list(${type})) -> list(T)`,
      (list, keys) => sortBy(asIs(list), asIs(keys)),
    ),
  ),
  declare('first', ['list_first', 'list(V).() -> optional(V)', optionalAt(() => 0)]),
  declare('last', ['list_last', 'list(V).() -> optional(V)', optionalAt((size) => size - 1)]),
  declare('lists.range', ['lists_range', '(int) -> list(int)', range]),
  declare('sets.contains', [
    'list_sets_contains_list',
    SETS,
    sets((left, right) => right.every((element) => holds(left, element))),
  ]),
  declare('sets.equivalent', [
    'list_sets_equivalent_list',
    SETS,
    sets(
      (left, right) => right.every((element) => holds(left, element)) && left.every((element) => holds(right, element)),
    ),
  ]),
  declare('sets.intersects', [
    'list_sets_intersects_list',
    SETS,
    sets((left, right) => left.some((element) => holds(right, element))),
  ]),
  declare(
    'cel.@mapInsert',
    ['@mapInsert_map_key_value', '(map(K, V), K, V) -> map(K, V)', insert],
    ['@mapInsert_map_map', '(map(K, V), map(K, V)) -> map(K, V)', insertAll],
  ),
];
