/** The tables of the pages of results. */
import type { OfficialTest } from './test-list.ts';
import type { DatedResult, TestResult } from './test-result.ts';
import { PARTS, type Rule, waitsFor, waitsForByName } from './waits-for.ts';

/** The days of the results: those of several days may be from several versions. */
export function daysOf(suite: readonly OfficialTest[], results: ReadonlyMap<string, DatedResult>): readonly string[] {
  const dates = suite.flatMap((test) => results.get(test.name)?.date ?? []);
  if (dates.length === 0) return [];
  const days = [...Map.groupBy(dates, (date) => date)].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return [`Days of these results: ${days.map(([date, { length }]) => `${date} (${length})`).join(', ')}.`, ''];
}

/** A section for each area, with all of its tests. */
export function testsByArea(
  tests: readonly OfficialTest[],
  results: ReadonlyMap<string, TestResult>,
  rules: readonly Rule[],
): readonly string[] {
  return byArea(tests).flatMap(([area, members]) => [`## ${area}`, '', ...testTable(members, results, rules)]);
}

/** The number of tests that did not pass, by the part that they wait for. */
export function partTable(
  tests: readonly OfficialTest[],
  results: ReadonlyMap<string, TestResult>,
  rules: readonly Rule[],
): readonly string[] {
  const waiting = tests.flatMap((test) => {
    const result = results.get(test.name);
    return result === undefined || result.outcome === 'passed' ? [] : [waitsFor(result, rules).part];
  });
  if (waiting.length === 0) return [];
  const rows = PARTS.map((part) => [part, waiting.filter((other) => other === part).length] as const)
    .filter(([, count]) => count > 0)
    .map(([part, count]) => `| ${part} | ${count} |`);
  return ['| waits for | tests |', '| --- | --- |', ...rows, ''];
}

/** The number of tests with each result, by area. */
export function areaTable(tests: readonly OfficialTest[], results: ReadonlyMap<string, TestResult>): readonly string[] {
  const rows = byArea(tests).map(([area, members]) => {
    const count = (outcome: TestResult['outcome'] | undefined) =>
      members.filter((test) => results.get(test.name)?.outcome === outcome).length;
    return `| ${area} | ${count('passed')} | ${count('failed')} | ${count('skipped')} | ${count(undefined)} | ${members.length} |`;
  });
  return [
    '| area | passed | failed | skipped | not run | tests |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ];
}

/** The result of each test, and what it waits for. */
export function testTable(
  tests: readonly OfficialTest[],
  results: ReadonlyMap<string, TestResult>,
  rules: readonly Rule[],
): readonly string[] {
  const rows = tests.map((test) => {
    const result = results.get(test.name);
    const seconds = result?.seconds.toFixed(1) ?? '';
    return `| ${cell(test.name)} | ${result?.outcome ?? 'not run'} | ${seconds} | ${cell(reason(test, result, rules))} |`;
  });
  return ['| test | result | seconds | waits for |', '| --- | --- | --- | --- |', ...rows, ''];
}

function reason({ name }: OfficialTest, result: TestResult | undefined, rules: readonly Rule[]): string {
  if (result?.outcome === 'passed') return '';
  const found = result === undefined ? waitsForByName(name, rules) : waitsFor(result, rules);
  return found === undefined ? '' : `${found.part}: ${found.why}`;
}

/** The text as one cell of a table. */
export const cell = (text: string) => text.replaceAll('|', String.raw`\|`).replaceAll(/\s+/g, ' ');

/** The tests of each area, both in the order of their names. */
export function byArea(tests: readonly OfficialTest[]): readonly (readonly [string, readonly OfficialTest[]])[] {
  return [...Map.groupBy(tests, (test) => test.area)]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([area, members]) => [area, members.toSorted((one, other) => (one.name < other.name ? -1 : 1))] as const);
}
