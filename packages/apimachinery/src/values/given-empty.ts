import { setMember } from '@gantry/objects';

/**
 * Empty lists and maps that a client wrote. Go tells an empty one from none at all until an object is stored, and Kubernetes
 * lets it show in a few places: what messages print, defaults that only fill what is absent, and fields that are always written,
 * of which a manager becomes the owner. Objects in normalised shape have neither, so that rules need not tell them apart; what was
 * written is remembered beside them, for as long as the object itself lives.
 */
const marks = new WeakMap<object, Map<string, 'list' | 'map'>>();

/** Remembers that the field `name` of `parent` was written as an empty list or map. */
export function markGivenEmpty(parent: object, name: string, kind: 'list' | 'map'): void {
  const known = marks.get(parent);
  if (known === undefined) marks.set(parent, new Map([[name, kind]]));
  else known.set(name, kind);
}

/** The empty list or map that was written as the field `name`; undefined where it was not, or where the field holds something now. */
export function givenEmpty(parent: object, name: string): [] | Record<string, never> | undefined {
  const kind = marks.get(parent)?.get(name);
  if (kind === undefined) return undefined;
  const value = (parent as Record<string, unknown>)[name];
  if (value !== undefined && value !== null) return undefined;
  return kind === 'list' ? [] : {};
}

/** Lets `to`, a shallow copy of `from`, know of the same fields. */
export function carryGivenEmpty(from: object, to: object): void {
  const known = marks.get(from);
  if (known !== undefined) marks.set(to, new Map(known));
}

/** A deep copy of JSON that knows of what was written empty. */
export function cloneWithEmpty<T>(value: T): T {
  if (Array.isArray(value)) return value.map((item) => cloneWithEmpty(item)) as T;
  if (value === null || typeof value !== 'object') return value;
  const out: Record<string, unknown> = {};
  for (const key in value) setMember(out, key, cloneWithEmpty((value as Record<string, unknown>)[key]));
  carryGivenEmpty(value, out);
  return out as T;
}

/** Gives each place of `value` an object of its own: what stands in several places is copied for all but the first. Changes `value`. */
export function separateShares(value: object, seen = new Set<object>()): void {
  seen.add(value);
  for (const [key, child] of Object.entries(value) as [string, unknown][]) {
    if (child === null || typeof child !== 'object') continue;
    if (seen.has(child)) setMember(value, key, cloneWithEmpty(child));
    else separateShares(child, seen);
  }
}

/** What was written empty at a path as errors name it (`spec.rules[1].values`), below `object`. */
export function givenEmptyAt(object: object, path: string): [] | Record<string, never> | undefined {
  const parts = [...path.matchAll(/[^.[\]]+/g)].map(([part]) => part);
  const name = parts.pop();
  let parent: unknown = object;
  for (const part of parts) {
    if (parent === null || typeof parent !== 'object') return undefined;
    parent = (parent as Record<string, unknown>)[part];
  }
  return name === undefined || parent === null || typeof parent !== 'object' ? undefined : givenEmpty(parent, name);
}
