import { CelDuration, CelError, CelTimestamp, CelUint, type CelValue } from './value.ts';

export const NO_SUCH_OVERLOAD = new CelError('no such overload');
const UNORDERED = new CelError('NaN values cannot be ordered');

/** Below, at or above: -1, 0, 1. Numbers of different types compare by value. */
export function compareValues(left: CelValue, right: CelValue): number | CelError {
  const [a, b] = [numeric(left), numeric(right)];
  if (a !== undefined && b !== undefined) {
    if (Number.isNaN(a) || Number.isNaN(b)) return UNORDERED;
    // As cel-go does: beside a double, an integer counts as the double nearest to it.
    return typeof a === typeof b ? order(a, b) : order(Number(a), Number(b));
  }
  if (typeof left === 'string' && typeof right === 'string') return compareStrings(left, right);
  if (typeof left === 'boolean' && typeof right === 'boolean') return order(Number(left), Number(right));
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.compare(left, right);
  if (left instanceof CelDuration && right instanceof CelDuration) return order(left.nanoseconds, right.nanoseconds);
  if (left instanceof CelTimestamp && right instanceof CelTimestamp) return order(left.nanoseconds, right.nanoseconds);
  return NO_SUCH_OVERLOAD;
}

/** A number's value; undefined of anything else. JavaScript compares bigint with number exactly. */
export function numeric(value: CelValue): bigint | number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  return value instanceof CelUint ? value.value : undefined;
}

function order(left: bigint | number, right: bigint | number): number {
  if (left < right) return -1;
  return left > right ? 1 : 0;
}

/** By code points, as bytes of UTF-8 compare. */
function compareStrings(left: string, right: string): number {
  if (left === right) return 0;
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const [a, b] = [left.charCodeAt(index), right.charCodeAt(index)];
    if (a === b) continue;
    // Halves of a pair sort above every character of one unit.
    const [high, low] = [a >= 0xd800 && a <= 0xdfff, b >= 0xd800 && b <= 0xdfff];
    if (high !== low) return high ? 1 : -1;
    return a < b ? -1 : 1;
  }
  return left.length < right.length ? -1 : 1;
}
