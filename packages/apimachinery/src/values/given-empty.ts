import { setMember } from '@gantry/objects';

/**
 * Empty lists and maps that a client wrote. Until an object is stored, Go distinguishes an empty list or map from an absent one. In
 * Kubernetes this is visible in a few places: in messages, in defaults that only fill absent fields, and in fields that are always written,
 * whose manager becomes the owner. Objects in normalised shape contain neither, so rules need not distinguish them. This map keeps the
 * information for as long as the object lives.
 */
const marks = new WeakMap<object, Map<string, 'list' | 'map'>>();

/** Remembers that the field `name` of `parent` was written as an empty list or map. */
export function markGivenEmpty(parent: object, name: string, kind: 'list' | 'map'): void {
  const known = marks.get(parent);
  if (known === undefined) marks.set(parent, new Map([[name, kind]]));
  else known.set(name, kind);
}

/** The empty list or map that was written as field `name`. Undefined if it was not, or if the field has a value now. */
export function givenEmpty(parent: object, name: string): [] | Record<string, never> | undefined {
  const kind = marks.get(parent)?.get(name);
  if (kind === undefined) return undefined;
  const value = (parent as Record<string, unknown>)[name];
  if (value !== undefined && value !== null) return undefined;
  return kind === 'list' ? [] : {};
}

/** Copies the marks of `from` to `to`, a shallow copy of it. */
export function carryGivenEmpty(from: object, to: object): void {
  const known = marks.get(from);
  if (known !== undefined) marks.set(to, new Map(known));
}

/** A deep copy of JSON that keeps the marks of empty lists and maps. */
export function cloneWithEmpty<T>(value: T): T {
  if (Array.isArray(value)) return value.map((item) => cloneWithEmpty(item)) as T;
  if (value === null || typeof value !== 'object') return value;
  const out: Record<string, unknown> = {};
  for (const key in value) setMember(out, key, cloneWithEmpty((value as Record<string, unknown>)[key]));
  carryGivenEmpty(value, out);
  return out as T;
}

/** Makes every object in `value` appear in one place only: further occurrences are replaced by copies. Changes `value`. */
export function separateShares(value: object, seen = new Set<object>()): void {
  seen.add(value);
  for (const [key, child] of Object.entries(value) as [string, unknown][]) {
    if (child === null || typeof child !== 'object') continue;
    if (seen.has(child)) setMember(value, key, cloneWithEmpty(child));
    else separateShares(child, seen);
  }
}

/** The empty list or map that was written at a path below `object`; paths as in errors (`spec.rules[1].values`). */
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
