/** What the program said of one test that was selected. */
export interface TestResult {
  readonly name: string;
  /** `skipped`: the test itself found that this cluster cannot run it. */
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly seconds: number;
  /** Why it failed or skipped: the first lines of the program's message. */
  readonly message?: string;
}

/** A result as it is kept. */
export interface DatedResult extends TestResult {
  /** The day on which the test ended, in UTC: `2026-05-01`. */
  readonly date: string;
}

/** `later` over `earlier`, test by test. */
export function mergeResults<T extends TestResult>(
  earlier: ReadonlyMap<string, T>,
  later: Iterable<T>,
): ReadonlyMap<string, T> {
  const merged = new Map(earlier);
  for (const result of later) merged.set(result.name, result);
  return merged;
}
