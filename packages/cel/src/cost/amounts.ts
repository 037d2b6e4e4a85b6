import { type Estimate } from '../environment/environment.ts';

/** The cost that stands for overflow: 2^64, since JavaScript rounds the largest uint64 up by one. */
export const UNBOUNDED = 2 ** 64;

const clamp = (value: number) => Math.min(value, UNBOUNDED);

export const fixed = (value: number): Estimate => ({ min: value, max: value });
export const UNKNOWN: Estimate = { min: 0, max: UNBOUNDED };
export const ZERO = fixed(0);
export const ONE = fixed(1);

export function plus(...parts: readonly Estimate[]): Estimate {
  let [min, max] = [0, 0];
  for (const part of parts) {
    min = clamp(min + part.min);
    max = clamp(max + part.max);
  }
  return { min, max };
}

export function times(left: Estimate, right: Estimate): Estimate {
  const product = (a: number, b: number) => (a === 0 || b === 0 ? 0 : clamp(a * b));
  return { min: product(left.min, right.min), max: product(left.max, right.max) };
}

/** Multiplies by a price per unit and rounds up. */
export function priced(size: Estimate, price: number): Estimate {
  return { min: clamp(Math.ceil(size.min * price)), max: clamp(Math.ceil(size.max * price)) };
}

/** The smallest range that covers both. */
export function either(left: Estimate, right: Estimate): Estimate {
  return { min: Math.min(left.min, right.min), max: Math.max(left.max, right.max) };
}
