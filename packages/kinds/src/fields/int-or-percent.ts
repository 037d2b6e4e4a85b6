import { type FieldError, invalid, percent } from '@gantry/objects';
import { invalidAll, nonNegative } from '@gantry/apimachinery';

/** Checks a non-negative count or a percentage. */
export function validateIntOrPercent(value: number | string, path: string): FieldError[] {
  return typeof value === 'string' ? invalidAll(path, value, percent(value)) : nonNegative(path, value);
}

/** The number of a percentage or a count. 0 for an invalid percentage, which `validateIntOrPercent` reports. */
export function amountOf(value: number | string): number {
  if (typeof value === 'number') return value;
  return percent(value).length === 0 ? Number(value.slice(0, -1)) : 0;
}

export function validateAtMostAll(value: number | string, path: string): FieldError[] {
  return typeof value === 'string' && amountOf(value) > 100
    ? [invalid(path, value, 'must not be greater than 100%')]
    : [];
}
