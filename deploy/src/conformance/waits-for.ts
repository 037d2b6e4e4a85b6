import type { TestResult } from './test-result.ts';

/**
 * The parts that a test can wait for. `machine`: this machine lacks something; `internals`: the test checks internals of Kubernetes' own
 * programs; `program`: the official program itself skips the test; `defect`: Gantry has a defect.
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
  /** What is missing or wrong; for `machine` also the proof, and where the test should pass. */
  readonly why: string;
}

/** Explains why tests did not pass. The first rule whose patterns all match counts. */
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
 * Reads deploy/conformance/waits-for.json. Throws for a rule without a part, and for a rule that blames the machine without naming the
 * message: another failure of the same test may have another cause.
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

/** What a test that did not pass waits for. A failure that no rule explains is a defect. */
export function waitsFor(result: TestResult, rules: readonly Rule[]): WaitsFor {
  const matches = (pattern: RegExp | undefined, text: string) => pattern === undefined || pattern.test(text);
  return (
    rules.find((rule) => matches(rule.test, result.name) && matches(rule.message, result.message ?? '')) ?? UNEXPLAINED
  );
}

/** What a test that was not run waits for, if a rule matches by name alone. */
export function waitsForByName(name: string, rules: readonly Rule[]): WaitsFor | undefined {
  return rules.find(({ test, message }) => test?.test(name) === true && message === undefined);
}
