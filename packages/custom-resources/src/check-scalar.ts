import { equalJson } from '@gantry/objects';
import type { JsonSchema } from '@gantry/apimachinery';
import { failure, invalidFinding, Result } from './finding.ts';
import { hasFormat } from './formats.ts';

function jsonType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  // An integer beyond 64 bits is a float64, as in Go.
  if (typeof value === 'number') return Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? 'integer' : 'number';
  return typeof value === 'bigint' ? 'integer' : typeof value;
}

/** Types that the schema allows. */
function typesOf(schema: JsonSchema): readonly string[] {
  if (schema['x-kubernetes-int-or-string'] === true) return ['integer', 'string'];
  return schema.type === undefined || schema.type === '' ? [] : [schema.type];
}

export function checkType(value: unknown, schema: JsonSchema, path: string): Result {
  const types = typesOf(schema);
  const found = jsonType(value);
  const result = new Result();
  result.matches = 1;
  const mismatch = (wanted: string): Result =>
    failure({
      type: 'FieldValueTypeInvalid',
      path,
      value: found,
      detail: `${path} in body must be of type ${wanted}: ${JSON.stringify(found)}`,
    });
  if (value === null) {
    return types.length > 0 && !types.includes('null') && schema.nullable !== true ? mismatch(types.join(',')) : result;
  }
  const fits = types.includes(found) || (found === 'integer' && types.includes('number'));
  const { format = '' } = schema;
  const isText = found === 'string' || found === 'array';
  const ownFormat = found === 'integer' ? 'int64' : found === 'number' ? 'float64' : '';
  if (!isText && format !== '' && format !== ownFormat && !fits) {
    return failure({
      type: 'FieldValueTypeInvalid',
      path,
      value: ownFormat,
      detail: `${path} in body must be of type ${format}: ${JSON.stringify(ownFormat)}`,
    });
  }
  const isNumeric = types.includes('number') || types.includes('integer');
  if (!isNumeric && format !== '' && isText) return result;
  return fits ? result : mismatch(types.join(','));
}

export function checkEnum(value: unknown, schema: JsonSchema, path: string): Result {
  const allowed = schema.enum ?? [];
  if (allowed.length === 0 || allowed.some((one) => one !== null && equalJson(one, value))) return new Result();
  // Null never matches an enum value, but is accepted if the field is nullable and the enum lists it.
  if (value === null && schema.nullable === true && allowed.includes(null)) return new Result();
  const texts = allowed.map((one) => JSON.stringify(typeof one === 'string' ? one : JSON.stringify(one)));
  return failure({
    type: 'FieldValueNotSupported',
    path,
    value,
    detail: `supported values: ${texts.join(', ')}`,
  });
}

export function checkFormat(value: string, format: string, path: string): Result {
  if (hasFormat(value, format)) return new Result();
  return failure({
    type: 'FieldValueTypeInvalid',
    path,
    value,
    detail: `${path} in body must be of type ${format}: ${JSON.stringify(value)}`,
  });
}

/** Go's %v of a number. */
function goNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e21) {
    return Math.abs(value) >= 1e21 ? value.toExponential() : String(value);
  }
  return String(value).replace(/e([+-])(\d)$/, 'e$10$2');
}

/** Integers that a double cannot hold are bigint, which JavaScript compares exactly with numbers. */
export function checkNumber(value: number | bigint, schema: JsonSchema, path: string): Result {
  const result = new Result();
  const { maximum, minimum, multipleOf } = schema;
  const type = typesOf(schema).length === 1 ? schema.type : undefined;
  const { format = '' } = schema;
  const range = (number: number | bigint, what: string): boolean => {
    if (fitsRange(number, type, format)) return true;
    const kind =
      format === 'int32' || format === 'int64' || format === 'float' ? `with format ${format}` : '(default format)';
    result.add({
      type: 'FieldValueInvalid',
      path: undefined,
      value: '',
      detail: `${what} value must be of type ${type ?? ''} ${kind} in ${path}`,
    });
    return false;
  };
  range(value, 'Checked');
  // Limits for an integer are truncated to integers, if they are in range.
  const boundary = (limit: number, what: string) => (range(limit, what) && isWhole(value) ? Math.trunc(limit) : limit);
  const refuse = (detail: string) => result.add(invalidFinding(path, value, `${path} in body should be ${detail}`));
  if (multipleOf !== undefined) {
    const factor = boundary(multipleOf, 'MultipleOf');
    if (factor <= 0) {
      const detail = `factor MultipleOf declared for ${path} must be positive: ${goNumber(factor)}`;
      result.add(invalidFinding(path, factor, detail));
    } else if (!isMultiple(value, factor)) refuse(`a multiple of ${goNumber(factor)}`);
  }
  if (minimum !== undefined) {
    const least = boundary(minimum, 'Minimum boundary');
    const isExclusive = schema.exclusiveMinimum === true;
    const words = isExclusive ? 'greater than' : 'greater than or equal to';
    if (isExclusive ? value <= least : value < least) refuse(`${words} ${goNumber(least)}`);
  }
  if (maximum !== undefined) {
    const most = boundary(maximum, 'Maximum boundary');
    const isExclusive = schema.exclusiveMaximum === true;
    const words = isExclusive ? 'less than' : 'less than or equal to';
    if (isExclusive ? value >= most : value > most) refuse(`${words} ${goNumber(most)}`);
  }
  result.matches++;
  return result;
}

function isWhole(value: number | bigint): boolean {
  return typeof value === 'bigint' || Number.isInteger(value);
}

function isMultiple(value: number | bigint, factor: number): boolean {
  if (typeof value === 'bigint') {
    if (Number.isInteger(factor)) return value % BigInt(factor) === 0n;
    return isMultiple(Number(value), factor);
  }
  const quotient = factor < 1 ? (1 / factor) * value : value / factor;
  return Math.abs(quotient - Math.round(quotient)) <= 1e-9 * Math.max(1, Math.abs(quotient));
}

const MAX_INT32 = 2 ** 31 - 1;
const MAX_FLOAT = 3.4028234663852886e38;

function fitsRange(value: number | bigint, type: string | undefined, format: string): boolean {
  if (type === 'integer') {
    if (!isWhole(value)) return false;
    return format === 'int32' ? value <= MAX_INT32 && value >= -MAX_INT32 - 1 : Math.abs(Number(value)) <= 2 ** 63;
  }
  return type !== 'number' || format !== 'float' || Math.abs(Number(value)) <= MAX_FLOAT;
}
