import { CelDuration, CelError, CelTimestamp, CelUint, type CelValue } from './value.ts';

export const NO_SUCH_OVERLOAD = new CelError('no such overload');
const UNORDERED = new CelError('NaN values cannot be ordered');

/** Compares two values: -1, 0 or 1. Numbers of different types compare by value. */
export function compareValues(left: CelValue, right: CelValue): number | CelError {
  const [a, b] = [numeric(left), numeric(right)];
  if (a !== undefined && b !== undefined) {
    if (Number.isNaN(a) || Number.isNaN(b)) return UNORDERED;
    // As in cel-go, an integer is converted to double when compared with a double.
    return typeof a === typeof b ? order(a, b) : order(Number(a), Number(b));
  }
  if (typeof left === 'string' && typeof right === 'string') return compareStrings(left, right);
  if (typeof left === 'boolean' && typeof right === 'boolean') return order(Number(left), Number(right));
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.compare(left, right);
  if (left instanceof CelDuration && right instanceof CelDuration) return order(left.nanoseconds, right.nanoseconds);
  if (left instanceof CelTimestamp && right instanceof CelTimestamp) return order(left.nanoseconds, right.nanoseconds);
  return NO_SUCH_OVERLOAD;
}

/** The value of a number; undefined for other types. JavaScript compares bigint with number exactly. */
export function numeric(value: CelValue): bigint | number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  return value instanceof CelUint ? value.value : undefined;
}

function order(left: bigint | number, right: bigint | number): number {
  if (left < right) return -1;
  return left > right ? 1 : 0;
}

/** Compares by code points, the order of UTF-8 bytes. */
function compareStrings(left: string, right: string): number {
  if (left === right) return 0;
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const [a, b] = [left.charCodeAt(index), right.charCodeAt(index)];
    if (a === b) continue;
    // Surrogates sort above every character of one unit.
    const [high, low] = [a >= 0xd800 && a <= 0xdfff, b >= 0xd800 && b <= 0xdfff];
    if (high !== low) return high ? 1 : -1;
    return a < b ? -1 : 1;
  }
  return left.length < right.length ? -1 : 1;
}
