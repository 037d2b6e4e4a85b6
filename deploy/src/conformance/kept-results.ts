/**
 * The results of the tests beyond conformance that the repository keeps (deploy/conformance/beyond-results.jsonl): with them a run of a part,
 * from any checkout, updates the page. The first line names the release, each other one is the last result of a test.
 */
import { isClaimedBeyondConformance, type OfficialTest } from './test-list.ts';
import type { DatedResult } from './test-result.ts';

interface Header {
  readonly release: string;
}

/** Reads the file's text. Of another release nothing is kept. */
export function parseKeptResults(text: string, release: string): ReadonlyMap<string, DatedResult> {
  const [header, ...lines] = text.split('\n').filter((line) => line !== '');
  if (header === undefined || (JSON.parse(header) as Header).release !== release) return new Map();
  const results = lines.map((line) => JSON.parse(line) as DatedResult);
  return new Map(results.map((result) => [result.name, result]));
}

/** The file's text for what of `results` is of claimed tests beyond conformance, in the order of their names. */
export function formatKeptResults(
  release: string,
  tests: readonly OfficialTest[],
  results: ReadonlyMap<string, DatedResult>,
): string {
  const kept = tests
    .filter(isClaimedBeyondConformance)
    .flatMap(({ name }) => results.get(name) ?? [])
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return `${[{ release } satisfies Header, ...kept].map((line) => JSON.stringify(line)).join('\n')}\n`;
}

/** Of each test the result of the later day; of the same day `own` before `kept`. */
export function laterResults(
  kept: ReadonlyMap<string, DatedResult>,
  own: ReadonlyMap<string, DatedResult>,
): ReadonlyMap<string, DatedResult> {
  const merged = new Map(kept);
  for (const result of own.values()) {
    const other = kept.get(result.name);
    if (other === undefined || other.date <= result.date) merged.set(result.name, result);
  }
  return merged;
}
