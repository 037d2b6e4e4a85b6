import { numeric } from './compare.ts';
import {
  CelDuration,
  CelList,
  CelMap,
  CelOpaque,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  type CelValue,
  isError,
} from './value.ts';

/** Whether two values are equal. Values of different types differ, except numbers, which compare by value. */
export function equalValues(left: CelValue, right: CelValue): boolean {
  const [a, b] = [numeric(left), numeric(right)];
  // JavaScript's == compares bigint with number by value, which === does not.
  if (a !== undefined && b !== undefined) return !(a < b) && !(a > b) && !Number.isNaN(a) && !Number.isNaN(b);
  if (left === right) return true;
  if (left === null || right === null || typeof left !== 'object' || typeof right !== 'object') return false;
  if (left instanceof CelList) return right instanceof CelList && left.equals(right, equalValues);
  if (left instanceof CelMap) return right instanceof CelMap && equalMaps(left, right);
  if (left instanceof Uint8Array) return right instanceof Uint8Array && Buffer.compare(left, right) === 0;
  if (left instanceof CelDuration) return right instanceof CelDuration && left.nanoseconds === right.nanoseconds;
  if (left instanceof CelTimestamp) return right instanceof CelTimestamp && left.nanoseconds === right.nanoseconds;
  if (left instanceof CelTypeValue) return right instanceof CelTypeValue && left.name === right.name;
  if (left instanceof CelOptional) return right instanceof CelOptional && equalOptionals(left, right);
  return left instanceof CelOpaque && right instanceof CelOpaque && left.equals(right);
}

function equalMaps(left: CelMap, right: CelMap): boolean {
  if (left.size !== right.size) return false;
  for (const key of left.keys()) {
    const [ours, theirs] = [left.get(key), right.get(key)];
    if (ours === undefined || theirs === undefined || isError(ours) || isError(theirs)) return false;
    if (!equalValues(ours, theirs)) return false;
  }
  return true;
}

function equalOptionals(left: CelOptional, right: CelOptional): boolean {
  if (left.value === undefined || right.value === undefined) return left.value === right.value;
  return equalValues(left.value, right.value);
}
