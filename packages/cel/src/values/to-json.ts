import { entriesOf } from './collections.ts';
import { formatSeconds } from './convert.ts';
import { formatRfc3339 } from './timestamp.ts';
import {
  CelDuration,
  CelError,
  CelList,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelUint,
  type CelValue,
  isError,
} from './value.ts';

/** A value as JSON, the inverse of `valueOfJson`; an error for values that JSON cannot express. */
export function jsonOfValue(value: CelValue): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'string' || typeof value === 'number') {
    return value;
  }
  if (typeof value === 'bigint') return numberOf(value);
  if (value instanceof CelUint) return numberOf(value.value);
  if (value instanceof CelTimestamp) return formatRfc3339(value.nanoseconds);
  if (value instanceof CelDuration) return formatSeconds(value.nanoseconds);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof CelOptional) return value.value === undefined ? null : jsonOfValue(value.value);
  if (value instanceof CelList) return listOf(value);
  if (value instanceof CelMap) return objectOf(value);
  return new CelError('unsupported type conversion to JSON');
}

/** An integer as objects have it: bigint if a double would print other digits. */
function numberOf(value: bigint): number | bigint {
  const number = Number(value);
  return String(number) === String(value) ? number : value;
}

function listOf(list: CelList): unknown {
  const items: unknown[] = [];
  for (const element of list) {
    const item = jsonOfValue(element);
    if (isError(item)) return item;
    items.push(item);
  }
  return items;
}

function objectOf(map: CelMap): unknown {
  const entries = entriesOf(map);
  if (isError(entries)) return entries;
  const fields: [string, unknown][] = [];
  for (const [key, element] of entries) {
    if (typeof key !== 'string') return new CelError(`map key ${String(key)} is not a string`);
    const item = jsonOfValue(element);
    if (isError(item)) return item;
    fields.push([key, item]);
  }
  // `__proto__` must become an own property.
  return Object.fromEntries(fields);
}
