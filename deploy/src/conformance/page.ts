/** docs/conformance-official.md, from the program's results. */
import type { OfficialTest } from './test-list.ts';
import { isConformance } from './test-list.ts';
import { areaTable, daysOf, partTable, testsByArea } from './tables.ts';
import type { DatedResult } from './test-result.ts';
import type { Rule } from './waits-for.ts';

export interface PageInput {
  /** The release whose program ran, such as `v1.36.2`. */
  readonly release: string;
  readonly tests: readonly OfficialTest[];
  /** The last result of each test. */
  readonly results: ReadonlyMap<string, DatedResult>;
  readonly rules: readonly Rule[];
}

/** The page. Its first line is `N of TOTAL`: conformance tests that passed. */
export function formatPage({ release, tests, results, rules }: PageInput): string {
  const suite = tests.filter(isConformance);
  const passed = suite.filter((test) => results.get(test.name)?.outcome === 'passed');
  const notRun = suite.filter((test) => !results.has(test.name)).length;
  const lines = [
    `${passed.length} of ${suite.length}`,
    '',
    `The first line counts the conformance tests of Kubernetes ${release} that pass. \`npm run conformance:official\` builds Kubernetes' own`,
    'program and its images, runs it against a cluster of its own, and writes this page. The tables name what is missing for each test that',
    'does not pass. Other tests of the same program are in [conformance-beyond.md](conformance-beyond.md).',
    '',
    ...daysOf(suite, results),
    ...(notRun === 0 ? [] : [`${notRun} of them were not run.`, '']),
    ...partTable(suite, results, rules),
    ...areaTable(suite, results),
    ...testsByArea(suite, results, rules),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}
