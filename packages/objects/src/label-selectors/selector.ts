import type { LabelSelector } from '../generated/types.ts';

/** The comparison of a requirement. `gt` and `lt` compare integers, as in Kubernetes. */
export type LabelOperator = 'in' | 'notin' | 'exists' | 'doesNotExist' | 'gt' | 'lt';

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

/** A parsed label selector. Immutable. */
export class Selector {
  readonly requirements: readonly LabelRequirement[];
  readonly #nothing: boolean;

  constructor(requirements: readonly LabelRequirement[], scope: 'selective' | 'nothing' = 'selective') {
    this.requirements = requirements;
    this.#nothing = scope === 'nothing';
  }

  /** Whether it matches everything. */
  get empty(): boolean {
    return this.requirements.length === 0 && !this.#nothing;
  }

  /** Whether it matches nothing, whatever the labels. */
  get nothing(): boolean {
    return this.#nothing;
  }

  matches(labels: Readonly<Record<string, string>> | undefined): boolean {
    return !this.#nothing && this.requirements.every((requirement) => meets(requirement, labels ?? {}));
  }

  /** The selector in the syntax of `parseLabelSelector`. */
  toString(): string {
    return this.requirements.map(formatRequirement).join(',');
  }
}

function meets({ key, operator, values }: LabelRequirement, labels: Readonly<Record<string, string>>): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'exists':
      return value !== undefined;
    case 'doesNotExist':
      return value === undefined;
    case 'in':
      return value !== undefined && values.includes(value);
    case 'notin':
      return value === undefined || !values.includes(value);
    case 'gt':
    case 'lt': {
      const [left, right] = [wholeNumber(value), wholeNumber(values[0])];
      if (left === undefined || right === undefined) return false;
      const difference = left - right;
      return operator === 'gt' ? difference > 0n : difference < 0n;
    }
  }
}

/** An integer in a label value; undefined for other values. */
function wholeNumber(text: string | undefined): bigint | undefined {
  return text !== undefined && /^[+-]?\d{1,63}$/.test(text) ? BigInt(text.replace('+', '')) : undefined;
}

function formatRequirement({ key, operator, values }: LabelRequirement): string {
  switch (operator) {
    case 'exists':
      return key;
    case 'doesNotExist':
      return `!${key}`;
    case 'gt':
      return `${key}>${values[0] ?? ''}`;
    case 'lt':
      return `${key}<${values[0] ?? ''}`;
    case 'in':
      return values.length === 1 ? `${key}=${values[0] ?? ''}` : `${key} in (${[...values].sort().join(',')})`;
    case 'notin':
      return values.length === 1 ? `${key}!=${values[0] ?? ''}` : `${key} notin (${[...values].sort().join(',')})`;
  }
}

const OPERATORS: Readonly<Record<string, LabelOperator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: 'doesNotExist',
};

/** The selector of an object's field: an absent one matches nothing, an empty one everything. An unknown operator matches nothing. */
export function labelSelectorFrom(selector: LabelSelector | null | undefined): Selector {
  if (selector === undefined || selector === null) return new Selector([], 'nothing');
  const requirements: LabelRequirement[] = Object.entries(selector.matchLabels ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => ({ key, operator: 'in', values: [value] }));
  for (const expression of selector.matchExpressions ?? []) {
    const operator = OPERATORS[expression.operator];
    if (operator === undefined) return new Selector([], 'nothing');
    requirements.push({ key: expression.key, operator, values: expression.values ?? [] });
  }
  return new Selector(requirements);
}
