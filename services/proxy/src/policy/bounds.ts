import type { LabelSelector } from '@gantry/objects';

/**
 * What policies take of the packet filter and of the proxy's time. A namespace's authors decide about it, and everyone's rules wait for it:
 * so there are bounds for a policy and for all policies of a namespace. What is beyond them stays closed, in that namespace alone.
 */
export interface Amounts {
  readonly policies: number;
  /** Each can have a chain of its own. */
  readonly rules: number;
  /** Ranges of addresses and of ports, after those that overlap are merged. */
  readonly ranges: number;
  /** Of selectors, as `termsOf` counts them: a pod is compared with each of them. */
  readonly terms: number;
  /** Rules that select pods as their peers: each can have a set of its own. */
  readonly groups: number;
  /** Each can have a set of its own. */
  readonly namedPorts: number;
}

/** Rules of one direction that a policy may have. */
export const MAX_RULES = 1000;

/** What one policy may use. */
export const POLICY_BOUNDS: Amounts = {
  policies: 1,
  rules: 2 * MAX_RULES,
  ranges: 10_000,
  terms: 2000,
  groups: 500,
  namedPorts: 100,
};

/** For all policies of a namespace. */
export const NAMESPACE_BOUNDS: Amounts = {
  policies: 500,
  rules: 5000,
  ranges: 50_000,
  terms: 10_000,
  groups: 2000,
  namedPorts: 1000,
};

/** No amount of anything. */
export const NOTHING: Amounts = { policies: 0, rules: 0, ranges: 0, terms: 0, groups: 0, namedPorts: 0 };

const NAMES = Object.keys(NOTHING) as readonly (keyof Amounts)[];

/** The sum of each. */
export function plus(one: Amounts, other: Amounts): Amounts {
  return combined((name) => one[name] + other[name]);
}

/** The difference of each; below 0 where the other one is more. */
export function minus(one: Amounts, other: Amounts): Amounts {
  return combined((name) => one[name] - other[name]);
}

/** The smaller one of each. */
export function least(one: Amounts, other: Amounts): Amounts {
  return combined((name) => Math.min(one[name], other[name]));
}

/** Whether none is more than there is of it. */
export function fits(amounts: Amounts, left: Amounts): boolean {
  return NAMES.every((name) => amounts[name] <= left[name]);
}

/** The work of comparing labels with a selector: each label, expression and value of it counts, and the selector itself. */
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
