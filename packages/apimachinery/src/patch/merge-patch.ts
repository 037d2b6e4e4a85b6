import { setMember } from '@gantry/objects';

type Json = Record<string, unknown>;

/** Whether a value is a JSON object. Number literals are class instances and do not count. */
export function isPlainObject(value: unknown): value is Json {
  if (value === null || typeof value !== 'object') return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** RFC 7386: `target` with `patch` merged into it. Nulls inside new lists are removed too. Does not change its arguments. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (Array.isArray(patch))
    return patch.map((item: unknown) => (item === null ? null : applyMergePatch(undefined, item)));
  if (!isPlainObject(patch)) return patch;
  const out: Json = isPlainObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete out[key];
    else {
      const merged = applyMergePatch(Object.hasOwn(out, key) ? out[key] : undefined, value);
      setMember(out, key, merged);
    }
  }
  return out;
}
