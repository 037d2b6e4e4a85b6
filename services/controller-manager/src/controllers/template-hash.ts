import { safeEncode } from '@gantry/base';

/**
 * A short hash of JSON, safe in names and labels; the order of keys does not matter. After a collision of names another
 * `collisionCount` gives another hash of the same value.
 */
export function shortHash(value: unknown, collisionCount?: number): string {
  let hash = 0x811c9dc5; // FNV-1a, 32 bits
  for (const byte of new TextEncoder().encode(canonicalJson(value) + String(collisionCount ?? ''))) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return safeEncode(String(hash).padStart(10, '0'));
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, v]) => v !== undefined);
  return `{${entries
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([k, v]) => `${JSON.stringify(k)}:${canonicalJson(v)}`)
    .join(',')}}`;
}
