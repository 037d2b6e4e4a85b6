import { hasRepeated } from './list-uniqueness.ts';
import { append } from '@gantry/base';
import { type FieldError, equalJson } from '@gantry/objects';
import { hasFormat, isStringFormat } from './formats.ts';
import { type JsonSchema, isJsonObject, itemsOf } from '@gantry/apimachinery';
import { matchesPattern } from './pattern.ts';

/** What a check found: the errors, and how much was right, by which the nearest of several alternatives is told. */
class Result {
  readonly errors: Finding[] = [];
  matches = 0;

  add(finding: Finding): void {
    this.errors.push(finding);
  }

  merge(other: Result): void {
    append(this.errors, other.errors);
    this.matches += other.matches;
  }
}

/** One thing wrong; `path` is that inside the value: '' for the value itself. Without a path the whole is meant. */
interface Finding {
  readonly type: FieldError['type'];
  readonly path: string | undefined;
  readonly value: unknown;
  readonly detail: string;
}

/**
 * Everything that the schema says is wrong with a value, in the words of Kubernetes' validator. `path` is where the value
 * stands: '' for a whole resource. With `old`, what has not changed since is not looked at.
 */
export function validateValue(
  value: unknown,
  schema: JsonSchema,
  path = '',
  old?: { readonly value: unknown },
): FieldError[] {
  const { errors } = check(value, schema, '', old);
  return errors.map((error) => ({
    type: error.type,
    field: joinPath(path, error.path?.replace(/^\./, '') ?? ''),
    value: error.value,
    detail: error.detail,
  }));
}

function joinPath(path: string, inner: string): string {
  if (path === '' || inner === '') return path === '' && inner === '' ? '<nil>' : `${path}${inner}`;
  return `${path}.${inner}`;
}

type Old = { readonly value: unknown } | undefined;

function check(value: unknown, schema: JsonSchema, path: string, old: Old): Result {
  // Nothing is asked of what was there before: rules may have come after it.
  if (old !== undefined && equalJson(old.value, value)) return new Result();
  const result = new Result();
  if (value === null || value === undefined) {
    result.merge(checkType(null, schema, path));
    result.merge(checkEnum(null, schema, path));
    return result;
  }
  if ((schema.type ?? '') !== '' || (schema.format ?? '') !== '' || schema['x-kubernetes-int-or-string'] === true) {
    mergeCounted(result, checkType(value, schema, path));
  }
  mergeCounted(result, checkAlternatives(value, schema, path, old));
  if (typeof value === 'string') {
    mergeCounted(result, checkString(value, schema, path));
    const { format = '' } = schema;
    if (isStringFormat(format)) mergeCounted(result, checkFormat(value, format, path));
  }
  if (typeof value === 'number' || typeof value === 'bigint') {
    mergeCounted(result, checkNumber(Number(value), schema, path));
  }
  if (Array.isArray(value)) mergeCounted(result, checkList(value, schema, path, old));
  mergeCounted(result, checkEnum(value, schema, path));
  if (isJsonObject(value)) mergeCounted(result, checkObject(value, schema, path, old));
  result.matches++;
  return result;
}

function mergeCounted(result: Result, part: Result): void {
  result.merge(part);
  result.matches++;
}

function failure(finding: Finding): Result {
  const result = new Result();
  result.add(finding);
  return result;
}

function invalidFinding(path: string, value: unknown, detail: string): Finding {
  return { type: 'FieldValueInvalid', path, value: value ?? '', detail };
}

function jsonType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  // Whole numbers beyond what a double holds exactly were written as fractions, or are beyond 64 bits.
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'number';
  return typeof value === 'bigint' ? 'integer' : typeof value;
}

/** Types that the schema allows. */
function typesOf(schema: JsonSchema): readonly string[] {
  if (schema['x-kubernetes-int-or-string'] === true) return ['integer', 'string'];
  return schema.type === undefined || schema.type === '' ? [] : [schema.type];
}

function checkType(value: unknown, schema: JsonSchema, path: string): Result {
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
  const fits =
    types.includes(found) ||
    (found === 'integer' && types.includes('number')) ||
    (found === 'number' && isWhole(value, types));
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

function isWhole(value: unknown, types: readonly string[]): boolean {
  return types.includes('integer') && Number.isSafeInteger(value);
}

function checkEnum(value: unknown, schema: JsonSchema, path: string): Result {
  const allowed = schema.enum ?? [];
  if (allowed.length === 0 || allowed.some((one) => one !== null && equalJson(one, value))) return new Result();
  // A null is no value of any enumeration, and yet it is not held against one that may be null.
  if (value === null && schema.nullable === true && allowed.includes(null)) return new Result();
  const texts = allowed.map((one) => JSON.stringify(typeof one === 'string' ? one : JSON.stringify(one)));
  return failure({
    type: 'FieldValueNotSupported',
    path,
    value,
    detail: `supported values: ${texts.join(', ')}`,
  });
}

function checkString(value: string, schema: JsonSchema, path: string): Result {
  const { minLength, maxLength, pattern = '' } = schema;
  const length = [...value].length;
  if (maxLength !== undefined && length > maxLength) {
    return failure({ type: 'FieldValueTooLong', path, value, detail: `may not be more than ${maxLength} bytes` });
  }
  if (minLength !== undefined && length < minLength) {
    return failure(invalidFinding(path, value, `${path} in body should be at least ${minLength} chars long`));
  }
  if (pattern !== '' && !matchesPattern(value, pattern)) {
    return failure(invalidFinding(path, value, `${path} in body should match '${pattern}'`));
  }
  return new Result();
}

function checkFormat(value: string, format: string, path: string): Result {
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

function checkNumber(value: number, schema: JsonSchema, path: string): Result {
  const result = new Result();
  const { maximum, minimum, multipleOf } = schema;
  const type = typesOf(schema).length === 1 ? schema.type : undefined;
  const { format = '' } = schema;
  const range = (number: number, what: string): boolean => {
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
  // What a whole number is held against is made whole too, where that can be.
  const boundary = (limit: number, what: string) =>
    range(limit, what) && Number.isInteger(value) ? Math.trunc(limit) : limit;
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

function isMultiple(value: number, factor: number): boolean {
  const quotient = factor < 1 ? (1 / factor) * value : value / factor;
  return Math.abs(quotient - Math.round(quotient)) <= 1e-9 * Math.max(1, Math.abs(quotient));
}

const MAX_INT32 = 2 ** 31 - 1;
const MAX_FLOAT = 3.4028234663852886e38;

function fitsRange(value: number, type: string | undefined, format: string): boolean {
  if (type === 'integer') {
    if (!Number.isInteger(value)) return false;
    return format === 'int32' ? value <= MAX_INT32 && value >= -MAX_INT32 - 1 : Math.abs(value) <= 2 ** 63;
  }
  return type !== 'number' || format !== 'float' || Math.abs(value) <= MAX_FLOAT;
}

function checkList(value: readonly unknown[], schema: JsonSchema, path: string, old: Old): Result {
  const result = new Result();
  const items = itemsOf(schema);
  const { minItems, maxItems, uniqueItems } = schema;
  if (items !== undefined) {
    const before = correlateItems(schema, old);
    for (const [i, item] of value.entries()) result.merge(check(item, items, `${path}[${i}]`, before(item)));
  }
  if (minItems !== undefined && value.length < minItems) {
    result.add(invalidFinding(path, value.length, `${path} in body should have at least ${minItems} items`));
  }
  if (maxItems !== undefined && value.length > maxItems) result.add(tooMany(path, value.length, maxItems));
  if (uniqueItems === true && hasRepeated(value)) {
    result.add(invalidFinding(path, '', `${path} in body shouldn't contain duplicates`));
  }
  result.matches++;
  return result;
}

function tooMany(path: string, actual: number, most: number): Finding {
  const noun = most === 1 ? 'item' : 'items';
  const detail = most < 0 ? 'has too many items' : `must have at most ${most} ${noun}`;
  return { type: 'FieldValueTooMany', path, value: actual, detail };
}

/** Finds what an item was before: only lists with keys tell. */
function correlateItems(schema: JsonSchema, old: Old): (item: unknown) => Old {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  if (schema['x-kubernetes-list-type'] !== 'map' || old === undefined || !Array.isArray(old.value))
    return () => undefined;
  const keyOf = (item: unknown) => (isJsonObject(item) ? JSON.stringify(keys.map((key) => item[key] ?? null)) : '');
  const byKey = new Map((old.value as unknown[]).map((item) => [keyOf(item), item]));
  return (item) => {
    const found = byKey.get(keyOf(item));
    return found === undefined ? undefined : { value: found };
  };
}

function fieldBefore(old: Old, name: string, schema: JsonSchema): Old {
  if (old === undefined || !isJsonObject(old.value) || schema['x-kubernetes-map-type'] === 'atomic') return undefined;
  return Object.hasOwn(old.value, name) ? { value: old.value[name] } : undefined;
}

function checkObject(value: Record<string, unknown>, schema: JsonSchema, path: string, old: Old): Result {
  const result = new Result();
  const { properties = {}, additionalProperties, minProperties, maxProperties } = schema;
  const count = Object.keys(value).length;
  if (minProperties !== undefined && count < minProperties) {
    result.add(invalidFinding(path, count, `${path} in body should have at least ${minProperties} properties`));
  }
  if (maxProperties !== undefined && count > maxProperties) result.add(tooMany(path, count, maxProperties));
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(properties, key) || additionalProperties === undefined || additionalProperties === true) continue;
    if (additionalProperties === false) {
      result.add(invalidFinding(path, key, `${path}.${key} in body is a forbidden property`));
    } else {
      result.merge(check(value[key], additionalProperties, `${path}.${key}`, fieldBefore(old, key, schema)));
    }
  }
  for (const [name, property] of Object.entries(properties)) {
    if (!Object.hasOwn(value, name)) continue;
    const inner = path === '' ? name : `${path}.${name}`;
    result.merge(check(value[name], property, inner, fieldBefore(old, name, schema)));
  }
  for (const name of schema.required ?? []) {
    if (Object.hasOwn(value, name)) continue;
    result.add({ type: 'FieldValueRequired', path: `${path}.${name}`, value: undefined, detail: '' });
  }
  return result;
}

function whole(path: string, detail: string): Finding {
  return { type: 'FieldValueInvalid', path: undefined, value: '', detail: `${JSON.stringify(path)} ${detail}` };
}

function checkAlternatives(value: unknown, schema: JsonSchema, path: string, old: Old): Result {
  const result = new Result();
  checkAnyOf(result, value, schema, path, old);
  checkOneOf(result, value, schema, path, old);
  checkAllOf(result, value, schema, path, old);
  if (schema.not !== undefined && check(value, schema.not, path, undefined).errors.length === 0) {
    result.add(whole(path, 'must not validate the schema (not)'));
  }
  result.matches++;
  return result;
}

function checkAnyOf(result: Result, value: unknown, { anyOf = [] }: JsonSchema, path: string, old: Old): void {
  if (anyOf.length === 0) return;
  let best: Result | undefined;
  for (const alternative of anyOf) {
    const one = check(value, alternative, path, old);
    if (one.errors.length === 0) {
      result.merge(one);
      return;
    }
    if (best === undefined || one.matches > best.matches) best = one;
  }
  result.add(whole(path, 'must validate at least one schema (anyOf)'));
  if (best !== undefined) result.merge(best);
}

function checkOneOf(result: Result, value: unknown, { oneOf = [] }: JsonSchema, path: string, old: Old): void {
  if (oneOf.length === 0) return;
  const all = oneOf.map((alternative) => check(value, alternative, path, old));
  const valid = all.filter((one) => one.errors.length === 0);
  const [first] = valid;
  if (valid.length === 1 && first !== undefined) {
    result.merge(first);
    return;
  }
  const found = valid.length === 0 ? 'Found none valid' : `Found ${valid.length} valid alternatives`;
  result.add(whole(path, `must validate one and only one schema (oneOf). ${found}`));
  if (valid.length > 0) return;
  const best = all.reduce<Result | undefined>(
    (nearest, one) => (nearest === undefined || one.matches > nearest.matches ? one : nearest),
    undefined,
  );
  if (best !== undefined) result.merge(best);
}

function checkAllOf(result: Result, value: unknown, { allOf = [] }: JsonSchema, path: string, old: Old): void {
  if (allOf.length === 0) return;
  const all = allOf.map((one) => check(value, one, path, old));
  for (const one of all) result.merge(one);
  const valid = all.filter((one) => one.errors.length === 0).length;
  if (valid === all.length) return;
  result.add(whole(path, `must validate all the schemas (allOf)${valid === 0 ? '. None validated' : ''}`));
}
