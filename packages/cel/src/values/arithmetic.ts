import { joinLists } from './collections.ts';
import { NO_SUCH_OVERLOAD } from './compare.ts';
import { MAX_CHARACTERS, MAX_ELEMENTS, TOO_MANY_CHARACTERS, TOO_MANY_ELEMENTS } from './size-limits.ts';
import { isTimestamp } from './timestamp.ts';
import { CelDuration, CelError, CelList, type CelResult, CelTimestamp, CelUint, type CelValue } from './value.ts';

const INT_OVERFLOW = new CelError('integer overflow');
const UINT_OVERFLOW = new CelError('unsigned integer overflow');
const DURATION_OVERFLOW = new CelError('duration overflow');
const TIMESTAMP_OVERFLOW = new CelError('timestamp overflow');
const DIVISION_BY_ZERO = new CelError('division by zero');
const MODULUS_BY_ZERO = new CelError('modulus by zero');

export function intOf(value: bigint): CelResult {
  return BigInt.asIntN(64, value) === value ? value : INT_OVERFLOW;
}

export function uintOf(value: bigint): CelResult {
  return BigInt.asUintN(64, value) === value ? new CelUint(value) : UINT_OVERFLOW;
}

export function durationOf(nanoseconds: bigint): CelResult {
  return BigInt.asIntN(64, nanoseconds) === nanoseconds ? new CelDuration(nanoseconds) : DURATION_OVERFLOW;
}

export function timestampOf(nanoseconds: bigint): CelResult {
  return isTimestamp(nanoseconds) ? new CelTimestamp(nanoseconds) : TIMESTAMP_OVERFLOW;
}

export function add(left: CelValue, right: CelValue): CelResult {
  if (typeof left === 'bigint' && typeof right === 'bigint') return intOf(left + right);
  if (typeof left === 'number' && typeof right === 'number') return left + right;
  if (typeof left === 'string' && typeof right === 'string') return concatenate(left, right);
  if (left instanceof CelUint && right instanceof CelUint) return uintOf(left.value + right.value);
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.concat([left, right]);
  if (left instanceof CelList && right instanceof CelList) return addLists(left, right);
  if (left instanceof CelDuration) {
    if (right instanceof CelDuration) return durationOf(left.nanoseconds + right.nanoseconds);
    return right instanceof CelTimestamp ? timestampOf(left.nanoseconds + right.nanoseconds) : NO_SUCH_OVERLOAD;
  }
  if (left instanceof CelTimestamp && right instanceof CelDuration) {
    return timestampOf(left.nanoseconds + right.nanoseconds);
  }
  return NO_SUCH_OVERLOAD;
}

function concatenate(left: string, right: string): CelResult {
  return left.length + right.length > MAX_CHARACTERS ? TOO_MANY_CHARACTERS : left + right;
}

function addLists(left: CelList, right: CelList): CelResult {
  if (left.size + right.size > MAX_ELEMENTS) return TOO_MANY_ELEMENTS;
  return left.plus?.(right) ?? joinLists(left, right);
}

export function subtract(left: CelValue, right: CelValue): CelResult {
  if (typeof left === 'bigint' && typeof right === 'bigint') return intOf(left - right);
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (left instanceof CelUint && right instanceof CelUint) return uintOf(left.value - right.value);
  if (left instanceof CelDuration && right instanceof CelDuration) {
    return durationOf(left.nanoseconds - right.nanoseconds);
  }
  if (left instanceof CelTimestamp) {
    if (right instanceof CelTimestamp) return durationOf(left.nanoseconds - right.nanoseconds);
    return right instanceof CelDuration ? timestampOf(left.nanoseconds - right.nanoseconds) : NO_SUCH_OVERLOAD;
  }
  return NO_SUCH_OVERLOAD;
}

export function multiply(left: CelValue, right: CelValue): CelResult {
  if (typeof left === 'bigint' && typeof right === 'bigint') return intOf(left * right);
  if (typeof left === 'number' && typeof right === 'number') return left * right;
  if (left instanceof CelUint && right instanceof CelUint) return uintOf(left.value * right.value);
  return NO_SUCH_OVERLOAD;
}

export function divide(left: CelValue, right: CelValue): CelResult {
  if (typeof left === 'bigint' && typeof right === 'bigint') {
    return right === 0n ? DIVISION_BY_ZERO : intOf(left / right);
  }
  if (typeof left === 'number' && typeof right === 'number') return left / right;
  if (left instanceof CelUint && right instanceof CelUint) {
    return right.value === 0n ? DIVISION_BY_ZERO : uintOf(left.value / right.value);
  }
  return NO_SUCH_OVERLOAD;
}

export function modulo(left: CelValue, right: CelValue): CelResult {
  if (typeof left === 'bigint' && typeof right === 'bigint') {
    if (right === 0n) return MODULUS_BY_ZERO;
    // The quotient overflows, though the remainder fits.
    return right === -1n && left === -(1n << 63n) ? INT_OVERFLOW : left % right;
  }
  if (left instanceof CelUint && right instanceof CelUint) {
    return right.value === 0n ? MODULUS_BY_ZERO : uintOf(left.value % right.value);
  }
  return NO_SUCH_OVERLOAD;
}

export function negate(value: CelValue): CelResult {
  if (typeof value === 'bigint') return intOf(-value);
  return typeof value === 'number' ? -value : NO_SUCH_OVERLOAD;
}
