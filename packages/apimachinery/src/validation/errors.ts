import { type FieldError, OMITTED, equalJson, invalid } from '@gantry/objects';

/** The error for a value outside a closed set. The set is listed in the given order (`notSupported` sorts it). */
export function unsupported(field: string, value: unknown, supported: readonly string[]): FieldError {
  const list = supported.map((item) => JSON.stringify(item)).join(', ');
  return { type: 'FieldValueNotSupported', field, value, detail: `supported values: ${list}` };
}

export function notFound(field: string, value: unknown): FieldError {
  return { type: 'FieldValueNotFound', field, value, detail: '' };
}

/** One `Invalid` per message. */
export function invalidAll(field: string, value: unknown, messages: readonly string[]): FieldError[] {
  return messages.map((message) => invalid(field, value, message));
}

export const NON_NEGATIVE = 'must be greater than or equal to 0';
export const IMMUTABLE = 'field is immutable';

export function nonNegative(field: string, value: number | undefined): FieldError[] {
  return value !== undefined && value < 0 ? [invalid(field, value, NON_NEGATIVE)] : [];
}

/** An `Invalid` that does not show the value. */
export function invalidOmitted(field: string, detail: string): FieldError {
  return { type: 'FieldValueInvalid', field, value: OMITTED, detail };
}

/** The error for a field that differs from the stored value. An absent list, map or string equals an empty one. */
export function immutable(field: string, value: unknown, old: unknown): FieldError[] {
  return equalJson(orEmpty(value), orEmpty(old)) ? [] : [invalid(field, value, IMMUTABLE)];
}

function orEmpty(value: unknown): unknown {
  const isEmpty =
    value === '' || value === null || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
  return isEmpty ? undefined : value;
}
