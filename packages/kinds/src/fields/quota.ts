import { addQuantity, canonicalQuantity, compareQuantity, formatQuantity, parseQuantity } from '@gantry/objects';
import type { QuotaUsage } from '@gantry/apimachinery';

/** Amounts by resource name, as the API writes them: `{ cpu: '100m' }`. */
export type Amounts = Readonly<Record<string, string>>;

/** The sum of two amounts. */
export function addAmounts(left: string, right: string): string {
  return canonicalQuantity(formatQuantity(addQuantity(parseQuantity(left), parseQuantity(right))));
}

export function compareAmounts(left: string, right: string): number {
  return compareQuantity(parseQuantity(left), parseQuantity(right));
}

/** The quota usage of a kind that quotas can also count by the plain resource name. */
export function countedByName(resource: string): QuotaUsage {
  return { limits: (name) => name === resource, usage: () => ({ [resource]: '1' }) };
}

const OPERATORS: Readonly<Record<string, (named: readonly string[], values: readonly string[]) => boolean>> = {
  Exists: (named) => named.length > 0,
  DoesNotExist: (named) => named.length === 0,
  In: (named, values) => named.some((name) => values.includes(name)),
  NotIn: (named, values) => named.length === 0 || named.some((name) => !values.includes(name)),
};

/** Whether the classes of an object satisfy a term of a quota's scope selector. */
export function satisfiesScope(named: readonly string[], operator: string, values: readonly string[]): boolean {
  return OPERATORS[operator]?.(named, values) ?? false;
}
