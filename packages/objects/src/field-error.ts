import { goJson } from './go-json.ts';

/** Why a field is wrong, as Kubernetes' `field.Error` types read in `details.causes[].reason`. */
export type FieldErrorType =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTypeInvalid'
  | 'InternalError';

/** One wrong field. `field` is the path as Kubernetes writes it: `spec.containers[0].name`, `metadata.labels`. */
export interface FieldError {
  readonly type: FieldErrorType;
  readonly field: string;
  /** The value that was found; printed for Invalid, NotSupported, Duplicate, NotFound, TooMany and TypeInvalid unless OMITTED. */
  readonly value?: unknown;
  readonly detail: string;
}

const TEXT: Record<FieldErrorType, string> = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTypeInvalid: 'Invalid value',
  InternalError: 'Internal error',
};

const WITHOUT_VALUE: ReadonlySet<FieldErrorType> = new Set([
  'FieldValueRequired',
  'FieldValueForbidden',
  'FieldValueTooLong',
  'InternalError',
]);

/** Marks an error that does not print its value. */
export const OMITTED = Symbol('omitted');

/** The error's text without its path: `Invalid value: -1: must be greater than or equal to 0`. */
export function formatFieldError(error: FieldError): string {
  const head = TEXT[error.type];
  const isBare = WITHOUT_VALUE.has(error.type) || error.value === OMITTED;
  const value = isBare ? '' : `: ${formatValue(error.value, error.field)}`;
  return `${head}${value}${error.detail === '' ? '' : `: ${error.detail}`}`;
}

function formatValue(value: unknown, field: string): string {
  if (value === undefined || value === null) return 'null';
  if (typeof value === 'string') return goQuote(value);
  return goJson(asGoPrints(value, field.slice(field.lastIndexOf('.') + 1)));
}

/** Fields with string maps. Go prints maps in the order of their keys, and structs in the order of declaration. */
const MAPS: ReadonlySet<string> = new Set([
  'annotations',
  'capacity',
  'data',
  'labels',
  'limits',
  'matchLabels',
  'nodeSelector',
  'parameters',
  'requests',
]);

function asGoPrints(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((item) => asGoPrints(item, ''));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  if (MAPS.has(name)) entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, asGoPrints(inner, key)]));
}

/** Go's %q: like JSON, except that control characters are written as `\x01`. */
function goQuote(text: string): string {
  const short: Readonly<Record<string, string>> = { u0007: '\\a', u000b: '\\v' };
  return JSON.stringify(text)
    .replace(/\\(u00[01][0-9a-f]|.)/g, (whole, escape: string) =>
      escape.length === 5 ? (short[escape] ?? `\\x${escape.slice(3)}`) : whole,
    )
    .replaceAll('\x7f', '\\x7f');
}

export function required(field: string, detail = ''): FieldError {
  return { type: 'FieldValueRequired', field, detail };
}

export function invalid(field: string, value: unknown, detail: string): FieldError {
  return { type: 'FieldValueInvalid', field, value, detail };
}

export function forbidden(field: string, detail: string): FieldError {
  return { type: 'FieldValueForbidden', field, detail };
}

export function duplicate(field: string, value: unknown): FieldError {
  return { type: 'FieldValueDuplicate', field, value, detail: '' };
}

export function tooLong(field: string, maxLength: number): FieldError {
  return { type: 'FieldValueTooLong', field, detail: `may not be more than ${maxLength} bytes` };
}

/** `supported` is printed sorted, quoted and comma-separated, as Kubernetes does. */
export function notSupported(field: string, value: unknown, supported: readonly string[]): FieldError {
  const list = [...supported]
    .sort()
    .map((item) => JSON.stringify(item))
    .join(', ');
  return { type: 'FieldValueNotSupported', field, value, detail: list === '' ? '' : `supported values: ${list}` };
}

/** The error of a field that must have one of these values; none if it is absent. */
export function oneOf(field: string, value: string | undefined, supported: readonly string[]): FieldError[] {
  return value === undefined || supported.includes(value) ? [] : [notSupported(field, value, supported)];
}

/** Tells which values have occurred before. Linear time, because clients choose the number of values. */
export function repeatedAt(values: readonly unknown[]): (index: number) => boolean {
  const seen = new Set<unknown>();
  const repeated = values.map((value) => seen.size === seen.add(value).size);
  return (index) => repeated[index] === true;
}
