import { canonicalQuantity } from '@gantry/objects';
import type { ScalarKind } from '../schema/type-schema.ts';
import { exactInteger } from './exact-number.ts';
import { NumberLiteral, type Parsed } from './json-parser.ts';

/** A value of the right JSON type with invalid content (a quantity, a time, base64). Ends the decoding, as in Go. */
export class ContentError extends Error {
  override readonly name = 'ContentError';
}

/** A value of the wrong JSON type; `found` is Go's description: `string`, `number 1.5`. */
export class TypeMismatch extends Error {
  override readonly name = 'TypeMismatch';
  readonly found: string;

  constructor(found: string) {
    super(found);
    this.found = found;
  }
}

/** Go's word for the type of a JSON value. */
export function jsonTypeOf(value: Parsed): string {
  if (value instanceof NumberLiteral || typeof value === 'number') return 'number';
  if (typeof value === 'boolean') return 'bool';
  if (Array.isArray(value)) return 'array';
  return value === null ? 'null' : typeof value;
}

/** Decodes a non-null scalar as Kubernetes does, to its canonical form. */
export function decodeScalar(kind: ScalarKind, value: Parsed): unknown {
  switch (kind) {
    case 'string':
      return asString(value);
    case 'boolean':
      if (typeof value !== 'boolean') throw new TypeMismatch(jsonTypeOf(value));
      return value;
    case 'int32':
      return asInt32(value);
    case 'int64':
      return asInt64(value);
    case 'double':
      if (typeof value === 'number') return value;
      if (value instanceof NumberLiteral) return Number(value.text);
      throw new TypeMismatch(jsonTypeOf(value));
    case 'bytes':
      return Array.isArray(value) ? bytesOf(value) : canonicalBase64(asString(value));
    case 'time':
      return parseTime(asString(value), 0);
    case 'microTime':
      return parseTime(asString(value), 6);
    case 'quantity':
      return asQuantity(value);
    case 'intOrString':
      return typeof value === 'string' ? value : asInt32(value);
  }
}

/** Go also reads a list of small numbers as bytes. */
function bytesOf(list: readonly Parsed[]): string {
  const isByte = (item: Parsed): item is number => Number.isInteger(item) && Number(item) >= 0 && Number(item) <= 255;
  const bytes = list.map((item) => {
    if (item === null) return 0;
    if (!isByte(item)) throw new TypeMismatch(describeNumber(item));
    return item;
  });
  return Buffer.from(bytes).toString('base64');
}

function asString(value: Parsed): string {
  if (typeof value !== 'string') throw new TypeMismatch(jsonTypeOf(value));
  return value;
}

function asInt32(value: Parsed): number {
  if (Number.isInteger(value) && (value as number) >= -2147483648 && (value as number) <= 2147483647)
    return value as number;
  throw new TypeMismatch(describeNumber(value));
}

function asInt64(value: Parsed | bigint): number | bigint {
  // Values from protobuf or from an object are exact already.
  if (typeof value === 'bigint' || Number.isInteger(value)) return value as number | bigint;
  if (value instanceof NumberLiteral && /^-?\d+$/.test(value.text)) {
    const exact = exactInteger(value.text);
    if (exact !== undefined) return exact;
  }
  throw new TypeMismatch(describeNumber(value));
}

function describeNumber(value: Parsed): string {
  if (value instanceof NumberLiteral) return `number ${value.text}`;
  return typeof value === 'number' ? `number ${value}` : jsonTypeOf(value);
}

function asQuantity(value: Parsed): string {
  const text = value instanceof NumberLiteral ? value.text : value;
  if (typeof text !== 'string' && typeof text !== 'number') {
    // Kubernetes passes the raw text of any value to the quantity parser, which has only this message.
    throw new ContentError(
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
  }
  try {
    return canonicalQuantity(text);
  } catch (error) {
    throw new ContentError(error instanceof Error ? error.message : String(error));
  }
}

/** Base64 in canonical encoding. Throws with the position of the first wrong byte, counted as in Go. */
export function canonicalBase64(text: string): string {
  const packed = /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, '') : text;
  if (packed.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(packed)) {
    throw new ContentError(`illegal base64 data at input byte ${firstWrongByte(text)}`);
  }
  return packed.endsWith('=') ? Buffer.from(packed, 'base64').toString('base64') : packed;
}

function firstWrongByte(text: string): number {
  const bytes = Buffer.from(text);
  let inQuantum = 0;
  for (let at = 0; at < bytes.length; at++) {
    const character = String.fromCharCode(bytes[at] ?? 0);
    if (character === '\r' || character === '\n') continue;
    if (character === '=') {
      if (inQuantum < 2) return at;
      if (inQuantum === 3) return at + 1;
      return bytes[at + 1] === 0x3d ? at + 2 : at + 1;
    }
    if (!/[A-Za-z0-9+/]/.test(character)) return at;
    inQuantum = (inQuantum + 1) % 4;
  }
  return bytes.length - inQuantum;
}

const TIME = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?(Z|([+-])(\d{2}):(\d{2}))$/;
const LAYOUT: readonly (readonly [RegExp, string])[] = [
  [/^\d{4}/, '2006'],
  [/^-/, '-'],
  [/^\d{2}/, '01'],
  [/^-/, '-'],
  [/^\d{2}/, '02'],
  [/^T/, 'T'],
  [/^\d{2}/, '15'],
  [/^:/, ':'],
  [/^\d{2}/, '04'],
  [/^:/, ':'],
  [/^\d{2}(?:[.,]\d+)?/, '05'],
  [/^(Z|[+-]\d{2}:\d{2})/, 'Z07:00'],
];

/** Converts RFC 3339 to UTC with `decimals` digits after the second; null for Go's zero time. */
function parseTime(text: string, decimals: 0 | 6): string | null {
  const parts = TIME.exec(text);
  const layout = decimals === 0 ? '2006-01-02T15:04:05Z07:00' : '2006-01-02T15:04:05.000000Z07:00';
  if (parts === null) throw new ContentError(describeTimeError(text, layout));
  const [, year, month, day, hour, minute, second, fraction = '', , sign, offsetHours = '0', offsetMinutes = '0'] =
    parts;
  const range = outOfRange(parts);
  if (range !== undefined) throw new ContentError(`parsing time ${JSON.stringify(text)}: ${range} out of range`);
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * (sign === '-' ? -1 : 1);
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) - offset * 60_000;
  const whole = new Date(at).toISOString().slice(0, -5);
  if (whole === '0001-01-01T00:00:00' && /^0*$/.test(fraction)) return null;
  return decimals === 0 ? `${whole}Z` : `${whole}.${fraction.slice(0, 6).padEnd(6, '0')}Z`;
}

/** The part of a time in the form of TIME that is out of range; undefined if all are valid. */
function outOfRange(parts: RegExpExecArray): 'month' | 'hour' | 'minute' | 'second' | 'day' | undefined {
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  const [hour, minute, second] = [Number(parts[4]), Number(parts[5]), Number(parts[6])];
  if (month < 1 || month > 12) return 'month';
  if (hour > 23) return 'hour';
  if (minute > 59) return 'minute';
  if (second > 59) return 'second';
  const days = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
  return day < 1 || day > days ? 'day' : undefined;
}

function describeTimeError(text: string, layout: string): string {
  let rest = text;
  for (const [pattern, element] of LAYOUT) {
    const match = pattern.exec(rest);
    if (match === null)
      return `parsing time ${JSON.stringify(text)} as ${JSON.stringify(layout)}: cannot parse ${JSON.stringify(rest)} as ${JSON.stringify(element)}`;
    rest = rest.slice(match[0].length);
  }
  return `parsing time ${JSON.stringify(text)}: extra text: ${JSON.stringify(rest)}`;
}
