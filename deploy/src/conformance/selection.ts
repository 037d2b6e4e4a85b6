import { isClaimedBeyondConformance, isConformance, type OfficialTest } from './test-list.ts';
import type { TestResult } from './test-result.ts';

/** Which tests are asked for; each value narrows the choice. */
export interface Choice {
  /** `conformance`: the suite alone; `beyond`: what is claimed beyond it; `all`: both. */
  readonly scope: 'conformance' | 'beyond' | 'all';
  /** Tests whose name matches. */
  readonly focus?: RegExp;
  /** Tests of this special interest group. */
  readonly area?: string;
  /** Tests that failed when they last ran, or that have no result. */
  readonly last?: 'failed' | 'none';
}

export function selectTests(
  tests: readonly OfficialTest[],
  choice: Choice,
  results: ReadonlyMap<string, TestResult>,
): readonly OfficialTest[] {
  return tests.filter(
    (test) =>
      ((choice.scope !== 'beyond' && isConformance(test)) ||
        (choice.scope !== 'conformance' && isClaimedBeyondConformance(test))) &&
      (choice.focus === undefined || choice.focus.test(test.name)) &&
      (choice.area === undefined || test.area === choice.area) &&
      (choice.last === undefined || (results.get(test.name)?.outcome ?? 'none') === choice.last),
  );
}
