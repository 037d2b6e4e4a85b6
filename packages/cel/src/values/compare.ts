import {
  CelDuration,
  CelError,
  CelList,
  CelMap,
  CelOpaque,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
  isError,
} from './value.ts';

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

/** The value of a number; undefined for other types. */
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

/** Whether two values are equal. Values of different types differ, except numbers, which compare by value. */
export function equalValues(left: CelValue, right: CelValue): boolean {
  const [a, b] = [numeric(left), numeric(right)];
  // As in cel-go, an integer is converted to double when compared with a double.
  if (a !== undefined && b !== undefined) return typeof a === typeof b ? a === b : Number(a) === Number(b);
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

/** A set of literals for `in` in one step. Created once per expression. */
export class LiteralSet {
  readonly #plain: ReadonlySet<unknown>;
  readonly #bytes: ReadonlySet<string>;

  constructor(literals: readonly CelValue[]) {
    this.#plain = new Set(literals.map(keyOf).filter((key) => key !== undefined));
    this.#bytes = new Set(literals.filter((literal) => literal instanceof Uint8Array).map(textOf));
  }

  /** Whether some literal equals the value: numbers of different types by their exact value, as in cel-go's sets, NaN never. */
  has(value: CelValue): boolean {
    if (value instanceof Uint8Array) return this.#bytes.size > 0 && this.#bytes.has(textOf(value));
    const key = keyOf(value);
    return key !== undefined && this.#plain.has(key);
  }
}

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

/** The key of a value; equal values have the same key. Undefined for NaN, and for values that cannot be literals. */
function keyOf(value: CelValue): unknown {
  const number = numeric(value);
  if (typeof number === 'number' && Number.isNaN(number)) return undefined;
  if (typeof number === 'number') return Number.isInteger(number) ? BigInt(number) : number;
  if (number !== undefined) return number;
  return value === null || typeof value !== 'object' ? value : undefined;
}
