import { readFileSync } from 'node:fs';

/** Who must be there for a test to pass: the API server alone, controllers, pods that become Running, real containers. */
export type ConformanceClass = 'A' | 'B' | 'F' | 'R';

export const CLASSES: readonly ConformanceClass[] = ['A', 'B', 'F', 'R'];

/** A test of the official conformance suite of the release that we serve. */
export interface ConformanceTest {
  readonly class: ConformanceClass;
  /** The first release that asked it. */
  readonly since: string;
  readonly area: string;
  /** Its source, under test/e2e. */
  readonly file: string;
  readonly codename: string;
}

/** All tests of the official suite, in its order. */
export const OFFICIAL_TESTS: readonly ConformanceTest[] = parse(
  readFileSync(new URL('codenames.tsv', import.meta.url), 'utf8'),
);

function parse(text: string): readonly ConformanceTest[] {
  return text
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => {
      const [of, since = '', area = '', file = '', codename = ''] = line.split('\t');
      const found = CLASSES.find((name) => name === of);
      if (found === undefined) throw new TypeError(`not a class: ${line}`);
      return { class: found, since, area, file, codename };
    });
}
