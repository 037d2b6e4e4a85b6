import type { LabelSelector } from '@gantry/objects';

/**
 * The amounts of the packet filter and of the proxy's time that policies use. The authors of a namespace decide about them, and the rules
 * of all others wait. So there are bounds for one policy and for all policies of a namespace. What exceeds the bounds stays closed, in
 * that namespace only.
 */
export interface Amounts {
  readonly policies: number;
  /** Each rule can have its own chain. */
  readonly rules: number;
  /** Ranges of addresses and of ports, after overlapping ranges are merged. */
  readonly ranges: number;
  /** Terms of selectors, as `termsOf` counts them. A pod is compared with each of them. */
  readonly terms: number;
  /** Rules that select pods as their peers. Each can have its own set. */
  readonly groups: number;
  /** Each named port can have its own set. */
  readonly namedPorts: number;
}

/** The maximum number of rules of one direction in a policy. */
export const MAX_RULES = 1000;

/** The bounds of one policy. */
export const POLICY_BOUNDS: Amounts = {
  policies: 1,
  rules: 2 * MAX_RULES,
  ranges: 10_000,
  terms: 2000,
  groups: 500,
  namedPorts: 100,
};

/** The bounds of all policies of a namespace. */
export const NAMESPACE_BOUNDS: Amounts = {
  policies: 500,
  rules: 5000,
  ranges: 50_000,
  terms: 10_000,
  groups: 2000,
  namedPorts: 1000,
};

/** Zero for every amount. */
export const NOTHING: Amounts = { policies: 0, rules: 0, ranges: 0, terms: 0, groups: 0, namedPorts: 0 };

const NAMES = Object.keys(NOTHING) as readonly (keyof Amounts)[];

/** Returns the sum of each amount. */
export function plus(one: Amounts, other: Amounts): Amounts {
  return combined((name) => one[name] + other[name]);
}

/** Returns the difference of each amount. It is below 0 if the other amount is larger. */
export function minus(one: Amounts, other: Amounts): Amounts {
  return combined((name) => one[name] - other[name]);
}

/** Returns the smaller one of each amount. */
export function least(one: Amounts, other: Amounts): Amounts {
  return combined((name) => Math.min(one[name], other[name]));
}

/** Whether no amount exceeds what is left of it. */
export function fits(amounts: Amounts, left: Amounts): boolean {
  return NAMES.every((name) => amounts[name] <= left[name]);
}

/** The work of comparing labels with a selector: each label, each expression, each of its values and the selector itself count as one. */
export function termsOf(selector: LabelSelector | null | undefined): number {
  const expressions = selector?.matchExpressions ?? [];
  const labels = Object.keys(selector?.matchLabels ?? {}).length;
  return expressions.reduce((sum, { values }) => sum + 1 + (values ?? []).length, 1 + labels);
}

function combined(amount: (name: keyof Amounts) => number): Amounts {
  return {
    policies: amount('policies'),
    rules: amount('rules'),
    ranges: amount('ranges'),
    terms: amount('terms'),
    groups: amount('groups'),
    namedPorts: amount('namedPorts'),
  };
}
