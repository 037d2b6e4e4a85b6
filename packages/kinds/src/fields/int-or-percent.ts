import { type FieldError, invalid, percent } from '@gantry/objects';
import { invalidAll, nonNegative } from '@gantry/apimachinery';

/** A count that is not negative, or a percentage. */
export function validateIntOrPercent(value: number | string, path: string): FieldError[] {
  return typeof value === 'string' ? invalidAll(path, value, percent(value)) : nonNegative(path, value);
}

/** The number, of a percentage as of a count; 0 where the text is no percentage, which `validateIntOrPercent` reports. */
export function amountOf(value: number | string): number {
  if (typeof value === 'number') return value;
  return percent(value).length === 0 ? Number(value.slice(0, -1)) : 0;
}

export function validateAtMostAll(value: number | string, path: string): FieldError[] {
  return typeof value === 'string' && amountOf(value) > 100
    ? [invalid(path, value, 'must not be greater than 100%')]
    : [];
}
