import { type FieldError, invalid } from '../../field-error.ts';

/** A value outside a closed set, the set in the order given (`notSupported` sorts it). */
export function unsupported(field: string, value: unknown, supported: readonly string[]): FieldError {
  const list = supported.map((item) => JSON.stringify(item)).join(', ');
  return { type: 'FieldValueNotSupported', field, value, detail: `supported values: ${list}` };
}

export function notFound(field: string, value: unknown): FieldError {
  return { type: 'FieldValueNotFound', field, value, detail: '' };
}

/** One `Invalid` per complaint. */
export function invalidAll(field: string, value: unknown, messages: readonly string[]): FieldError[] {
  return messages.map((message) => invalid(field, value, message));
}

export const NON_NEGATIVE = 'must be greater than or equal to 0';
export const IMMUTABLE = 'field is immutable';

export function nonNegative(field: string, value: number | undefined): FieldError[] {
  return value !== undefined && value < 0 ? [invalid(field, value, NON_NEGATIVE)] : [];
}
