import type { ObjectMeta } from './generated/types.ts';

/** Any Kubernetes object as its JSON. Typed kinds (`Pod`, `Deployment`, …) are assignable to it. */
export type KubeObject = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
};

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** Namespace and name; the namespace is '' for objects of cluster scope. */
export interface ObjectKey {
  readonly namespace: string;
  readonly name: string;
}

/** `namespace/name`, or `name` alone for cluster scope: how queues, caches and logs name an object. */
export function formatKey(key: ObjectKey): string {
  return key.namespace === '' ? key.name : `${key.namespace}/${key.name}`;
}

/** Inverse of `formatKey`. */
export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf('/');
  return slash < 0 ? { namespace: '', name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

/** The key of an object. */
export function keyOf(object: KubeObject): ObjectKey {
  return { namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '' };
}

/** A deep copy of JSON. Objects of caches are shared: copy before changing. */
export function cloneJson<T>(value: T): T {
  if (Array.isArray(value)) return value.map((item) => cloneJson(item)) as T;
  if (value === null || typeof value !== 'object') return value;
  const out: Record<string, unknown> = {};
  for (const key in value) setMember(out, key, cloneJson((value as Record<string, unknown>)[key]));
  return out as T;
}

/** The value of a key that a client chose; ignores inherited properties such as `constructor`. */
export function memberOf<T>(map: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}

/** Sets a key that a client chose; `__proto__` becomes an ordinary key. */
export function setMember(out: object, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(out, key, { value, enumerable: true, writable: true, configurable: true });
  else (out as Record<string, unknown>)[key] = value;
}

/** Deep equality of JSON; the order of an object's keys does not matter, an absent key differs from null. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => equalJson(item, b[i]));
  }
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  const keys = Object.keys(left).filter((key) => left[key] !== undefined);
  const others = Object.keys(right).filter((key) => right[key] !== undefined);
  return keys.length === others.length && keys.every((key) => key in right && equalJson(left[key], right[key]));
}
