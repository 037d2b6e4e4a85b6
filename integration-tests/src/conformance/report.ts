import { CATALOGUE, CLASSES, type ConformanceClass, type ConformanceTest } from './catalogue.ts';
import { waitsFor } from './waits-for.ts';

export type Outcome = 'passed' | 'failed';

/** What the run of the suite says: outcomes of proofs by codename. */
export type Outcomes = ReadonlyMap<string, Outcome>;

const INTRODUCTION = `
The tests of the official conformance suite of Kubernetes 1.36 by class (A: the API server alone; B: with controllers or
the scheduler; F: pods must become Running in status; R: real containers), and how many of them tests of our own
prove that ask the same through a real client library. The run writes this file and fails when it says something else:
\`npm run conformance\`. What no test of ours asks yet is listed with what it waits for.
`;

const OUTSIDE = 'proved with a server outside the cluster';

/** docs/conformance.md as the run says it must be. */
export function renderReport(outcomes: Outcomes): string {
  const totals = CLASSES.map((of) => {
    const tests = CATALOGUE.filter((test) => test.class === of);
    return `${of} ${tests.filter((test) => counts(test, outcomes)).length}/${tests.length}`;
  });
  const outside = CATALOGUE.filter((test) => test.class === 'R' && outcomes.get(test.codename) === 'passed').length;
  const lines = [
    ...totals,
    INTRODUCTION.trimEnd(),
    '',
    `Of class R, ${outside} are ${OUTSIDE}; they do not count above.`,
  ];
  return `${[...lines, ...CLASSES.flatMap((of) => section(of, outcomes))].join('\n')}\n`;
}

/** Webhooks and the like need a pod in the official test, so ours does not stand for it. */
function counts(test: ConformanceTest, outcomes: Outcomes): boolean {
  return test.class !== 'R' && outcomes.get(test.codename) === 'passed';
}

function section(of: ConformanceClass, outcomes: Outcomes): readonly string[] {
  const areas = Map.groupBy(
    CATALOGUE.filter((test) => test.class === of),
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
  return outcome ?? `waits for ${waitsFor(test)}`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}
