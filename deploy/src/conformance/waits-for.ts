import type { TestResult } from './test-result.ts';

/**
 * The parts that a test can wait for. `machine`: this machine cannot; `internals`: the test looks at the inside of Kubernetes' own
 * programs; `program`: the official program itself skips the test; `defect`: what exists is wrong.
 */
export const PARTS = [
  'controllers',
  'agent',
  'network',
  'scheduler',
  'storage',
  'machine',
  'internals',
  'program',
  'defect',
] as const;
export type Part = (typeof PARTS)[number];

export interface WaitsFor {
  readonly part: Part;
  /** What is missing or wrong; for `machine` with the proof, and the machine on which the test should pass. */
  readonly why: string;
}

/** The first rule whose patterns all match says what a test that did not pass waits for. */
export interface Rule extends WaitsFor {
  /** Matches the test's name. */
  readonly test?: RegExp;
  /** Matches the program's message. */
  readonly message?: RegExp;
}

interface StoredRule {
  readonly test?: string;
  readonly message?: string;
  readonly part: string;
  readonly why: string;
}

/**
 * Reads deploy/conformance/waits-for.json. A rule that names no part is a fault, and so is one that blames the machine for whatever
 * fails in a test: another failure of the same test is not the machine's.
 */
export function parseRules(text: string): readonly Rule[] {
  return (JSON.parse(text) as readonly StoredRule[]).map(({ test, message, part, why }) => {
    const known = PARTS.find((name) => name === part);
    if (known === undefined) throw new RangeError(`waits-for.json: ${part} is none of ${PARTS.join(', ')}`);
    if (why === '') throw new RangeError(`waits-for.json: a rule for ${part} does not say why`);
    if (known === 'machine' && message === undefined) {
      throw new RangeError(`waits-for.json: a rule for the machine does not say which failure of ${test}`);
    }
    return {
      part: known,
      why,
      ...(test === undefined ? {} : { test: new RegExp(test) }),
      ...(message === undefined ? {} : { message: new RegExp(message) }),
    };
  });
}

const UNEXPLAINED: WaitsFor = { part: 'defect', why: 'not explained yet' };

/** What a test that did not pass waits for. What no rule explains is a defect until it is explained. */
export function waitsFor(result: TestResult, rules: readonly Rule[]): WaitsFor {
  const matches = (pattern: RegExp | undefined, text: string) => pattern === undefined || pattern.test(text);
  return (
    rules.find((rule) => matches(rule.test, result.name) && matches(rule.message, result.message ?? '')) ?? UNEXPLAINED
  );
}

/** What a test that was not run waits for, where a rule says so of its name alone. */
export function waitsForByName(name: string, rules: readonly Rule[]): WaitsFor | undefined {
  return rules.find(({ test, message }) => test?.test(name) === true && message === undefined);
}
