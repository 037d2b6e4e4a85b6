import { type DatedResult, mergeResults, type TestResult } from './test-result.ts';

/** One run of the program, from its first start to its end over all interruptions. */
export interface RunState {
  /** The tests that were asked for, by name. */
  readonly selected: readonly string[];
  readonly startedAt: string;
  /** How often Ginkgo was started; each start keeps its report under its number. */
  readonly starts: number;
  readonly results: ReadonlyMap<string, DatedResult>;
}

/** The tests that have no result yet. */
export function remaining(state: RunState): readonly string[] {
  return state.selected.filter((name) => !state.results.has(name));
}

/** The state after `results` of `date`; a test that has one keeps its date. Of tests that were not selected it keeps nothing. */
export function recordResults(state: RunState, results: Iterable<TestResult>, date: string): RunState {
  const selected = new Set(state.selected);
  const known = [...results]
    .filter(({ name }) => selected.has(name))
    .map((result) => ({ ...result, date: state.results.get(result.name)?.date ?? date }));
  return { ...state, results: mergeResults(state.results, known) };
}

/** `parseRunState` inverts it. */
export function formatRunState(state: RunState): string {
  return `${JSON.stringify({ ...state, results: [...state.results.values()] }, null, 1)}\n`;
}

/** A file that is no run state is a fault of who changed it: it throws. */
export function parseRunState(text: string): RunState {
  const stored = JSON.parse(text) as Omit<RunState, 'results'> & { readonly results: readonly DatedResult[] };
  return { ...stored, results: new Map(stored.results.map((result) => [result.name, result])) };
}
