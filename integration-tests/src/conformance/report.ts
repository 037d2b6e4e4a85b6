import { CLASSES, type ConformanceClass, type ConformanceTest, OFFICIAL_TESTS } from './official-tests.ts';

export type Outcome = 'passed' | 'failed';

/** What the run of the suite says: outcomes of proofs by codename. */
export type Outcomes = ReadonlyMap<string, Outcome>;

const INTRODUCTION = `
The tests of the official conformance suite of Kubernetes 1.36 by class (A: the API server alone; B: with controllers or
the scheduler; F: pods must become Running in status; R: real containers). Of classes A and B: whether a test of ours passes
that asks the same of a running cluster through a real client library, and kubectl where the official test does; they are quick,
and part of \`npm test\`. Classes F and R are judged by the official program itself, in
[conformance-official.md](conformance-official.md). \`npm run conformance\` writes this file from its run, and every other run of
the suite fails when it would write anything else.
`;

const OUTSIDE = 'proved with a server outside the cluster';
const OFFICIAL = 'judged by the official program';

/** The classes whose tests have one of ours each. */
const OURS: readonly ConformanceClass[] = ['A', 'B'];

/** docs/conformance.md as the run says it must be. */
export function renderReport(outcomes: Outcomes): string {
  const totals = OURS.map((of) => {
    const tests = OFFICIAL_TESTS.filter((test) => test.class === of);
    return `${of} ${tests.filter(({ codename }) => outcomes.get(codename) === 'passed').length}/${tests.length}`;
  });
  const outside = OFFICIAL_TESTS.filter(
    (test) => test.class === 'R' && outcomes.get(test.codename) === 'passed',
  ).length;
  const lines = [
    ...totals,
    INTRODUCTION.trimEnd(),
    '',
    // Webhooks and the like need a pod in the official test.
    `Of class R, ${outside} are ${OUTSIDE}, too.`,
  ];
  return `${[...lines, ...CLASSES.flatMap((of) => section(of, outcomes))].join('\n')}\n`;
}

function section(of: ConformanceClass, outcomes: Outcomes): readonly string[] {
  const areas = Map.groupBy(
    OFFICIAL_TESTS.filter((test) => test.class === of),
    ({ area }) => area,
  );
  const tables = [...areas].flatMap(([area, tests]) => [
    '',
    `### ${area}`,
    '',
    '| since | codename | result |',
    '| --- | --- | --- |',
    ...tests.map((test) => `| ${test.since} | ${cell(test.codename)} | ${resultOf(test, outcomes)} |`),
  ]);
  return ['', `## Class ${of}`, ...tables];
}

function resultOf(test: ConformanceTest, outcomes: Outcomes): string {
  const outcome = outcomes.get(test.codename);
  if (outcome === 'passed') return test.class === 'R' ? OUTSIDE : 'passed';
  return outcome ?? (OURS.includes(test.class) ? 'waits for a test of ours' : OFFICIAL);
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}

const SHOWN = 20;

/** Lines that only one of two texts has, as a diff shows them; of many, the first. */
export function differences(before: string, after: string): readonly string[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const [had, has] = [new Set(old), new Set(now)];
  const changes = [
    ...old.filter((line) => !has.has(line)).map((line) => `- ${line}`),
    ...now.filter((line) => !had.has(line)).map((line) => `+ ${line}`),
  ];
  if (changes.length === 0 && before !== after) return ['the same lines in another order'];
  const more = changes.length - SHOWN;
  return more > 0 ? [...changes.slice(0, SHOWN), `and ${more} more`] : changes;
}
