/** What the program said of one test that was selected. */
export interface TestResult {
  readonly name: string;
  /** `skipped`: the test itself found that this cluster cannot run it. */
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly seconds: number;
  /** Why it failed or skipped: the first lines of the program's message. */
  readonly message?: string;
}

/** `later` over `earlier`, test by test. */
export function mergeResults(
  earlier: ReadonlyMap<string, TestResult>,
  later: Iterable<TestResult>,
): ReadonlyMap<string, TestResult> {
  const merged = new Map(earlier);
  for (const result of later) merged.set(result.name, result);
  return merged;
}
