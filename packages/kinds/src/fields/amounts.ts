import { addQuantity, canonicalQuantity, compareQuantity, formatQuantity, parseQuantity } from '@gantry/objects';

/** Amounts by resource name, as the API writes them: `{ cpu: '100m' }`. */
export type Amounts = Readonly<Record<string, string>>;

/** The sum of two amounts. */
export function addAmounts(left: string, right: string): string {
  return canonicalQuantity(formatQuantity(addQuantity(parseQuantity(left), parseQuantity(right))));
}

export function compareAmounts(left: string, right: string): number {
  return compareQuantity(parseQuantity(left), parseQuantity(right));
}
