import { parseGoDuration } from '@gantry/base';
import { durationOf, intOf, timestampOf, uintOf } from './arithmetic.ts';
import { floorDiv, formatRfc3339, parseRfc3339 } from './timestamp.ts';
import { typeNameOfValue } from './type-name.ts';
import { CelDuration, CelError, type CelResult, CelTimestamp, CelTypeValue, CelUint, type CelValue } from './value.ts';

const conversionError = (value: CelValue, type: string) =>
  new CelError(`type conversion error from '${typeNameOfValue(value)}' to '${type}'`);

export function toBool(value: CelValue): CelResult {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string') {
    if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(value)) return true;
    if (['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(value)) return false;
  }
  return conversionError(value, 'bool');
}

export function toBytes(value: CelValue): CelResult {
  if (value instanceof Uint8Array) return value;
  return typeof value === 'string' ? Buffer.from(value) : conversionError(value, 'bytes');
}

const FLOAT = /^[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|inf(?:inity)?|nan)$/i;

export function toDouble(value: CelValue): CelResult {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof CelUint) return Number(value.value);
  if (typeof value === 'string' && FLOAT.test(value)) {
    const lower = value.toLowerCase();
    if (lower.includes('nan')) return Number.NaN;
    if (lower.includes('inf')) return lower.startsWith('-') ? -Infinity : Infinity;
    const number = Number(value);
    if (Number.isFinite(number)) return number;
  }
  return conversionError(value, 'double');
}

export function toInt(value: CelValue): CelResult {
  if (typeof value === 'bigint') return value;
  if (value instanceof CelUint) return intOf(value.value);
  if (typeof value === 'number') return fromDouble(value, -(2 ** 63), intOf, 'integer overflow');
  if (value instanceof CelTimestamp) return floorDiv(value.nanoseconds, 1_000_000_000n);
  if (value instanceof CelDuration) return value.nanoseconds;
  if (typeof value === 'string' && /^[+-]?\d+$/.test(value)) {
    const number = int64Of(value);
    if (number !== undefined && BigInt.asIntN(64, number) === number) return number;
  }
  return conversionError(value, 'int');
}

export function toUint(value: CelValue): CelResult {
  if (value instanceof CelUint) return value;
  if (typeof value === 'bigint') return uintOf(value);
  if (typeof value === 'number') {
    if (value < 0) return new CelError('unsigned integer overflow');
    return fromDouble(value, -1, uintOf, 'unsigned integer overflow');
  }
  if (typeof value === 'string' && /^\d+$/.test(value)) {
    const number = int64Of(value);
    if (number !== undefined && BigInt.asUintN(64, number) === number) return new CelUint(number);
  }
  return conversionError(value, 'uint');
}

/** The value of digits with a sign; undefined for more digits than 64 bits can have, which would take long to convert. */
function int64Of(text: string): bigint | undefined {
  const [, sign = '', digits = ''] = /^([+-]?)0*(\d+)$/.exec(text) ?? [];
  if (digits.length > 20) return undefined;
  return sign === '-' ? -BigInt(digits) : BigInt(digits);
}

/** Converts by truncating. The smallest value is rejected too, because doubles below the range round to it. */
function fromDouble(value: number, least: number, make: (value: bigint) => CelResult, overflow: string): CelResult {
  if (!Number.isFinite(value) || value <= least) return new CelError(overflow);
  return make(BigInt(Math.trunc(value)));
}

export function toText(value: CelValue): CelResult {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return formatDouble(value);
  if (value instanceof CelUint) return String(value.value);
  if (value instanceof CelDuration) return formatSeconds(value.nanoseconds);
  if (value instanceof CelTimestamp) return formatRfc3339(value.nanoseconds);
  if (value instanceof CelTypeValue) return value.name;
  if (value instanceof Uint8Array) {
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value);
    } catch {
      return new CelError('invalid UTF-8 in bytes, cannot convert to string');
    }
  }
  return conversionError(value, 'string');
}

/** Go's %g: the shortest digits that read back, with an exponent below 1e-4 and from 1e6 on. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  const sign = power < 0 ? '-' : '+';
  return `${digits}e${sign}${String(Math.abs(power)).padStart(2, '0')}`;
}

export function toDuration(value: CelValue): CelResult {
  if (value instanceof CelDuration) return value;
  if (typeof value === 'bigint') return durationOf(value);
  const parsed = typeof value === 'string' ? parseGoDuration(value) : undefined;
  return parsed === undefined ? conversionError(value, 'google.protobuf.Duration') : durationOf(parsed);
}

export function toTimestamp(value: CelValue): CelResult {
  if (value instanceof CelTimestamp) return value;
  if (typeof value === 'bigint') return timestampOf(value * 1_000_000_000n);
  const parsed = typeof value === 'string' ? parseRfc3339(value) : undefined;
  return parsed === undefined ? conversionError(value, 'google.protobuf.Timestamp') : timestampOf(parsed);
}

/** Formats a duration as seconds with as few digits as possible: `1.5s`. */
export function formatSeconds(nanoseconds: bigint): string {
  const sign = nanoseconds < 0n ? '-' : '';
  const absolute = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const fraction = (absolute % 1_000_000_000n).toString().padStart(9, '0').replace(/0+$/, '');
  return `${sign}${absolute / 1_000_000_000n}${fraction === '' ? '' : `.${fraction}`}s`;
}
