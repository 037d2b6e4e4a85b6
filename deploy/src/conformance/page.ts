/** docs/conformance-official.md, written from what the program said. */
import type { OfficialTest } from './test-list.ts';
import { isConformance } from './test-list.ts';
import type { DatedResult, TestResult } from './test-result.ts';
import { PARTS, type Rule, waitsFor, waitsForByName } from './waits-for.ts';

export interface PageInput {
  /** The release whose program ran, such as `v1.36.2`. */
  readonly release: string;
  readonly tests: readonly OfficialTest[];
  /** The last result of each test. */
  readonly results: ReadonlyMap<string, DatedResult>;
  readonly rules: readonly Rule[];
}

const NO_RESULT =
  'have no result: they were not run for this page, which says neither that they pass nor that they fail.';

/** The page. Its first line is `N of TOTAL`: conformance tests that passed. */
export function formatPage({ release, tests, results, rules }: PageInput): string {
  const suite = tests.filter(isConformance);
  const beyond = tests.filter((test) => !isConformance(test) && results.has(test.name));
  const passed = suite.filter((test) => results.get(test.name)?.outcome === 'passed');
  const notRun = suite.filter((test) => !results.has(test.name)).length;
  const lines = [
    `${passed.length} of ${suite.length}`,
    '',
    `The conformance tests of Kubernetes ${release} that pass, as its own program says: \`npm run conformance:official\` builds that`,
    'program and its images, runs it against a cluster of its own, and writes this page. Each test that does not pass says what it',
    'waits for. What tests of our own ask is in [conformance.md](conformance.md).',
    '',
    ...daysOf(suite, results),
    ...(notRun === 0 ? [] : [`${notRun} of them ${NO_RESULT}`, '']),
    ...partTable(suite, results, rules),
    ...areaTable(suite, results),
    ...testsByArea('##', suite, results, rules),
    ...(beyond.length === 0 ? [] : beyondConformance(beyond, results, rules)),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

/** On which days the tests were run: results of several days may be of several versions. */
function daysOf(suite: readonly OfficialTest[], results: ReadonlyMap<string, DatedResult>): readonly string[] {
  const dates = suite.flatMap((test) => results.get(test.name)?.date ?? []);
  if (dates.length === 0) return [];
  const days = [...Map.groupBy(dates, (date) => date)].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return [`Days of these results: ${days.map(([date, { length }]) => `${date} (${length})`).join(', ')}.`, ''];
}

function beyondConformance(
  tests: readonly OfficialTest[],
  results: ReadonlyMap<string, TestResult>,
  rules: readonly Rule[],
): readonly string[] {
  const failed = tests.filter((test) => results.get(test.name)?.outcome !== 'passed');
  return [
    '## Beyond conformance',
    '',
    'Tests of the areas that are claimed, run by `npm run conformance:official -- --all`: none that disturb the whole cluster,',
    'none of alpha features, of features that must be switched on, or of drivers of others. Those that passed are only counted.',
    '',
    ...areaTable(tests, results),
    ...testsByArea('###', failed, results, rules),
  ];
}

function testsByArea(
  heading: string,
  tests: readonly OfficialTest[],
  results: ReadonlyMap<string, TestResult>,
  rules: readonly Rule[],
): readonly string[] {
  return byArea(tests).flatMap(([area, members]) => [`${heading} ${area}`, '', ...testTable(members, results, rules)]);
}

function partTable(
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

function areaTable(tests: readonly OfficialTest[], results: ReadonlyMap<string, TestResult>): readonly string[] {
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

function testTable(
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

const cell = (text: string) => text.replaceAll('|', String.raw`\|`).replaceAll(/\s+/g, ' ');

function byArea(tests: readonly OfficialTest[]): readonly (readonly [string, readonly OfficialTest[]])[] {
  return [...Map.groupBy(tests, (test) => test.area)]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([area, members]) => [area, members.toSorted((one, other) => (one.name < other.name ? -1 : 1))] as const);
}
