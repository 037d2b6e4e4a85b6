import { memberOf } from '@gantry/objects';

/**
 * Whether a live object has all of a configuration: each field of it, with lists of the same length. Fields that only the live object has,
 * such as defaults, do not count, and neither do empty maps and lists, which the API server drops. Quantities in another form (`1000m` for `1`) count as different.
 */
export function includes(live: unknown, wanted: unknown): boolean {
  if (wanted === undefined || Object.is(live, wanted)) return true;
  if (live === undefined && isEmpty(wanted)) return true;
  if (typeof live !== 'object' || typeof wanted !== 'object' || live === null || wanted === null) return false;
  if (Array.isArray(wanted)) {
    return Array.isArray(live) && live.length === wanted.length && wanted.every((item, i) => includes(live[i], item));
  }
  if (Array.isArray(live)) return false;
  return Object.entries(wanted).every(([key, value]) =>
    includes(memberOf(live as Record<string, unknown>, key), value),
  );
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
