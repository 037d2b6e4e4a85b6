import { setMember } from '@gantry/objects';
import type { StructType, Type } from '../schema/type-schema.ts';
import { goFormat } from './go-format.ts';
import { isPlainObject } from './merge-patch.ts';
import { type Item, normalizeOrder, splitByPresence } from './list-order.ts';

type Json = Record<string, unknown>;

/** The strategic merge patch itself is invalid. */
export class StrategicPatchError extends Error {
  override readonly name = 'StrategicPatchError';
}

const DIRECTIVE = '$patch';
const RETAIN_KEYS = '$retainKeys';
const DELETE_PREFIX = '$deleteFromPrimitiveList/';
const ORDER_PREFIX = '$setElementOrder/';
const BAD_RETAIN_KEYS = 'invalid patch format of retainKeys';
const BAD_ORDER = 'invalid patch format of setElementOrder list';
const LIST_OF_LISTS = 'lists of lists are not supported';

/**
 * `original` with a strategic merge patch applied: lists with a merge key are merged item by item, and directives are executed. Does not
 * change its arguments. Throws StrategicPatchError.
 */
export function applyStrategicMergePatch(original: Json, patch: Json, type: StructType): Json {
  return mergeMap(original, patch, type);
}

function mergeMap(original: Json, patch: Json, type: Type): Json {
  if (DIRECTIVE in patch) return directedMap(patch);
  const rest: Json = { ...patch };
  const out: Json = retainKeys({ ...original }, rest);
  mergeOrderedLists(out, rest, type);
  for (const [patchKey, value] of Object.entries(rest)) {
    const isDeletion = patchKey.startsWith(DELETE_PREFIX);
    const key = isDeletion ? patchKey.slice(DELETE_PREFIX.length) : patchKey;
    if (value === null) delete out[key];
    else if (isDeletion) {
      if (Array.isArray(out[key])) out[key] = deleteScalars(out[key], value);
    } else mergeKey(out, key, value, type);
  }
  return out;
}

function mergeKey(out: Json, key: string, value: unknown, type: Type): void {
  const current = Object.hasOwn(out, key) ? out[key] : undefined;
  const field = fieldOf(type, key);
  if (isPlainObject(current) && isPlainObject(value)) {
    setMember(out, key, field.strategies.includes('replace') ? value : mergeMap(current, value, field.type));
  } else if (Array.isArray(current) && Array.isArray(value)) {
    setMember(out, key, field.strategies.includes('merge') ? mergeList(current, value, field) : value);
  } else {
    const kept = withoutDirectives(withoutNulls(value));
    if (kept === undefined) delete out[key];
    else setMember(out, key, kept);
  }
}

interface PatchField {
  readonly type: Type;
  readonly strategies: readonly string[];
  readonly mergeKey: string;
}

const UNKNOWN: Type = { kind: 'any', goType: '' };

function fieldOf(type: Type, key: string): PatchField {
  const field = type.kind === 'struct' ? type.fields.get(key) : undefined;
  if (field !== undefined)
    return { type: field.type, strategies: field.patchStrategies, mergeKey: field.patchMergeKey ?? '' };
  return { type: type.kind === 'map' ? type.values : UNKNOWN, strategies: [], mergeKey: '' };
}

function directedMap(patch: Json): Json {
  const directive = patch[DIRECTIVE];
  if (directive === 'delete') return {};
  if (directive !== 'replace')
    throw new StrategicPatchError(`unknown patch type: ${goFormat(directive)} in map: ${goFormat(patch)}`);
  const { [DIRECTIVE]: _directive, ...rest } = patch;
  return rest;
}

/** Executes `$retainKeys` of `patch` and removes it from `patch`: all other keys of `out` are removed. */
function retainKeys(out: Json, patch: Json): Json {
  if (!(RETAIN_KEYS in patch)) return out;
  const list = patch[RETAIN_KEYS];
  delete patch[RETAIN_KEYS];
  if (!Array.isArray(list)) throw new StrategicPatchError(BAD_RETAIN_KEYS);
  const kept = new Set<unknown>(list);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || key.startsWith(DELETE_PREFIX) || key.startsWith(ORDER_PREFIX)) continue;
    if (!kept.has(key)) throw new StrategicPatchError(BAD_RETAIN_KEYS);
  }
  return Object.fromEntries(Object.entries(out).filter(([key]) => kept.has(key)));
}

/** Executes every `$setElementOrder/…` of `patch`. Removes it and the list that it orders from `patch`. */
function mergeOrderedLists(out: Json, patch: Json, type: Type): void {
  for (const orderKey of Object.keys(patch).filter((key) => key.startsWith(ORDER_PREFIX))) {
    const order = patch[orderKey];
    delete patch[orderKey];
    const key = orderKey.slice(ORDER_PREFIX.length);
    const field = fieldOf(type, key);
    const current = out[key] ?? undefined;
    const wanted = patch[key] ?? undefined;
    if (!Array.isArray(order) || !isListOrAbsent(current) || !isListOrAbsent(wanted))
      throw new StrategicPatchError(BAD_ORDER);
    checkOrder(wanted ?? [], order, field.mergeKey);
    if (current === undefined && wanted === undefined) continue;
    const merged = mergeForOrder(current, wanted, field);
    const { present, absent } = splitByPresence(merged, order, field.mergeKey);
    out[key] = normalizeOrder(
      { patched: present, serverOnly: absent, patchOrder: order, serverOrder: current ?? [] },
      field.mergeKey,
    );
    delete patch[key];
  }
}

function isListOrAbsent(value: unknown): value is Item[] | undefined {
  return value === undefined || Array.isArray(value);
}

function mergeForOrder(current: Item[] | undefined, wanted: Item[] | undefined, field: PatchField): Item[] {
  if (wanted === undefined) return current ?? [];
  if (current === undefined) return (withoutDirectives(wanted) as Item[] | undefined) ?? [];
  return field.strategies.includes('merge') ? mergeList(current, wanted, field) : wanted;
}

/** Checks that the items of the patch have the order of the directive. */
function checkOrder(items: readonly Item[], order: readonly Item[], mergeKey: string): void {
  const keyOf = (item: Item) => (mergeKey !== '' && isPlainObject(item) ? item[mergeKey] : item);
  let at = 0;
  for (const item of items) {
    if (isPlainObject(item) && DIRECTIVE in item) continue;
    while (at < order.length && keyOf(order[at]) !== keyOf(item)) at++;
    if (at++ >= order.length)
      throw new StrategicPatchError(
        `The order in patch list:\n${goFormat(items)}\n doesn't match $setElementOrder list:\n${goFormat(order)}\n`,
      );
  }
}

function mergeList(original: readonly Item[], patch: readonly Item[], field: PatchField): Item[] {
  if (original.length === 0 && patch.length === 0) return [];
  const isOfMaps = checkItemTypes(original, patch);
  if (!isOfMaps) {
    const merged = [...new Set([...original, ...patch])];
    const { present, absent } = splitByPresence(merged, patch, '');
    return normalizeOrder({ patched: present, serverOnly: absent, patchOrder: patch, serverOrder: original }, '');
  }
  const { mergeKey } = field;
  if (mergeKey === '') throw new StrategicPatchError(`cannot merge lists without merge key for ${field.type.goType}`);
  const directed = directedItems(original as Json[], patch as Json[], mergeKey);
  const itemType = field.type.kind === 'list' ? field.type.items : UNKNOWN;
  const merged = mergeItems(directed.original, directed.patch, mergeKey, itemType);
  const { present, absent } = splitByPresence(merged, directed.patch, mergeKey);
  return normalizeOrder(
    { patched: present, serverOnly: absent, patchOrder: directed.patch, serverOrder: directed.original },
    mergeKey,
  );
}

/** Returns whether the items are maps. Throws if they have different types or are lists. */
function checkItemTypes(original: readonly Item[], patch: readonly Item[]): boolean {
  const types = new Set(
    [...original, ...patch].map((item) => (Array.isArray(item) ? 'list' : isPlainObject(item) ? 'map' : typeof item)),
  );
  if (types.size > 1)
    throw new StrategicPatchError(`list element types are not identical: ${goFormat([original, patch])}`);
  if (types.has('list')) throw new StrategicPatchError(LIST_OF_LISTS);
  return types.has('map');
}

function directedItems(original: readonly Json[], patch: readonly Json[], mergeKey: string) {
  const deleted = new Set<unknown>();
  let replaces = false;
  const plain: Json[] = [];
  for (const item of patch) {
    const directive = item[DIRECTIVE];
    if (directive === undefined) plain.push(item);
    else if (directive === 'delete') {
      if (!(mergeKey in item)) throw noMergeKey(item, mergeKey);
      deleted.add(item[mergeKey]);
    } else if (directive === 'replace') replaces = true;
    else if (directive === 'merge') throw new StrategicPatchError('merging lists cannot yet be specified in the patch');
    else throw new StrategicPatchError(`unknown patch type: ${goFormat(directive)} in map: ${goFormat(item)}`);
  }
  if (replaces) return { original: plain, patch: [] };
  return { original: original.filter((item) => !deleted.has(item[mergeKey])), patch: plain };
}

function noMergeKey(item: Json, mergeKey: string): StrategicPatchError {
  return new StrategicPatchError(`map: ${goFormat(item)} does not contain declared merge key: ${mergeKey}`);
}

function mergeItems(original: readonly Json[], patch: readonly Json[], mergeKey: string, type: Type): Json[] {
  const out = [...original];
  const places = new Map<unknown, number>();
  for (const [at, item] of out.entries()) if (!places.has(item[mergeKey])) places.set(item[mergeKey], at);
  for (const item of patch) {
    if (!(mergeKey in item)) throw noMergeKey(item, mergeKey);
    const at = places.get(item[mergeKey]) ?? out.length;
    const found = out[at];
    out[at] = found === undefined ? item : mergeMap(found, item, type);
    places.set(item[mergeKey], at);
  }
  return out;
}

function deleteScalars(current: readonly Item[], toDelete: unknown): Item[] {
  if (!Array.isArray(toDelete)) throw new StrategicPatchError('invalid patch format of primitive list');
  const deleted = new Set<unknown>(toDelete);
  return current.filter((item) => !deleted.has(item));
}

/** A value without the keys that are null, at any depth. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== null)
      .map(([key, item]) => [key, withoutNulls(item)]),
  );
}

/** A value without maps that have a directive, at any depth; undefined if the value itself has one. */
function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isPlainObject(value)) return value;
  if (DIRECTIVE in value) return undefined;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, item]) => [key, withoutDirectives(item)] as const)
      .filter(([, item]) => item !== undefined),
  );
}
