/** docs/conformance-beyond.md: the tests of the official program that are claimed in addition to its conformance suite. */
import type { PageInput } from './page.ts';
import { areaTable, byArea, daysOf, cell, partTable, testTable } from './tables.ts';
import {
  CLAIMED_AREAS,
  isClaimedBeyondConformance,
  isConformance,
  type OfficialTest,
  reasonNotClaimed,
} from './test-list.ts';
import type { DatedResult } from './test-result.ts';
import { type Rule, waitsFor } from './waits-for.ts';

export interface BeyondPageInput extends PageInput {
  /** The areas whose sections are replaced. The page keeps its other sections. */
  readonly areas: ReadonlySet<string>;
  /** The present page, if it exists. Sections about another release are not kept. */
  readonly before: string | undefined;
}

/** The page: a section for each area, which lists the failed tests and counts the skipped ones by reason. */
export function formatBeyondPage({ release, tests, results, rules, areas, before }: BeyondPageInput): string {
  const claimed = byArea(tests.filter(isClaimedBeyondConformance));
  const introduction = [
    `Tests of Kubernetes ${release} beyond conformance, run by its official program: \`npm run conformance:official -- --beyond\`. The`,
    'conformance tests are in [conformance-official.md](conformance-official.md). Each section lists the failed tests of one area with the',
    'missing part, and counts the skipped tests by reason and the passed tests. An area without a section was not run.',
    '',
    ...notClaimedTable(tests),
  ];
  const kept = sectionsOf(before ?? '');
  const keepsOthers = before?.includes(`Tests of Kubernetes ${release} beyond`) === true;
  const sections = claimed.flatMap(([area, members]) => {
    if (areas.has(area)) return [section(area, members, results, rules).join('\n').trimEnd()];
    const old = keepsOthers ? kept.get(area) : undefined;
    return old === undefined ? [] : [old.trimEnd()];
  });
  return `${[introduction.join('\n').trimEnd(), ...sections].join('\n\n')}\n`;
}

/**
 * The claimed areas with results of tests beyond conformance. An area for which the page has results of more tests is included only with
 * `all`, because replacing its section loses these results.
 */
export function areasToWrite(
  tests: readonly OfficialTest[],
  results: ReadonlyMap<string, DatedResult>,
  before: string | undefined,
  which: 'without loss' | 'all',
): ReadonlySet<string> {
  const sections = sectionsOf(before ?? '');
  const areas = byArea(tests.filter(isClaimedBeyondConformance)).filter(([area, members]) => {
    const count = members.filter(({ name }) => results.has(name)).length;
    return count > 0 && (which === 'all' || count >= countedIn(sections.get(area) ?? ''));
  });
  return new Set(areas.map(([area]) => area));
}

/** The number of tests with results in a section. */
function countedIn(section: string): number {
  const [, ...counts] = /^\| sig-[a-z-]+ \| (\d+) \| (\d+) \| (\d+) \|/m.exec(section) ?? [];
  return counts.reduce((sum, count) => sum + Number(count), 0);
}

function section(
  area: string,
  members: readonly OfficialTest[],
  results: ReadonlyMap<string, DatedResult>,
  rules: readonly Rule[],
): readonly string[] {
  const failed = members.filter(({ name }) => results.get(name)?.outcome === 'failed');
  return [
    `## ${area}`,
    '',
    ...daysOf(members, results),
    ...areaTable(members, results),
    ...partTable(failed, results, rules),
    ...(failed.length === 0 ? [] : testTable(failed, results, rules)),
    ...skippedTable(members, results, rules),
  ];
}

function skippedTable(
  members: readonly OfficialTest[],
  results: ReadonlyMap<string, DatedResult>,
  rules: readonly Rule[],
): readonly string[] {
  const reasons = members.flatMap(({ name }) => {
    const result = results.get(name);
    if (result?.outcome !== 'skipped') return [];
    const { part, why } = waitsFor(result, rules);
    return [`${part}: ${why}`];
  });
  return countTable('skipped because', reasons);
}

function notClaimedTable(tests: readonly OfficialTest[]): readonly string[] {
  const reasons = tests
    .filter((test) => !isConformance(test) && CLAIMED_AREAS.includes(test.area))
    .flatMap((test) => reasonNotClaimed(test) ?? []);
  return countTable('not run because', reasons);
}

function countTable(heading: string, reasons: readonly string[]): readonly string[] {
  if (reasons.length === 0) return [];
  const counts = [...Map.groupBy(reasons, (reason) => reason)].map(([reason, { length }]) => [reason, length] as const);
  const rows = counts
    .toSorted(([, one], [, other]) => other - one)
    .map(([reason, count]) => `| ${cell(reason)} | ${count} |`);
  return [`| ${heading} | tests |`, '| --- | --- |', ...rows, ''];
}

/** The sections of a page by the areas that their headings name. */
function sectionsOf(page: string): ReadonlyMap<string, string> {
  const sections = page.split(/^(?=## )/m).slice(1);
  return new Map(sections.map((text) => [text.slice('## '.length, text.indexOf('\n')), text]));
}
