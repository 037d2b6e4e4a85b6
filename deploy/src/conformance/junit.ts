/**
 * The JUnit files that the official program writes (`--report-dir`). Go's encoder writes them: every `<` in a text is escaped,
 * attributes are in double quotes, and one `testcase` stands in no other.
 */
import type { TestResult } from './test-result.ts';

/** One `testcase` as it stands in the file, with what it says. */
export interface JunitCase {
  /** The test's full name, without the kind of node that Ginkgo puts before it. */
  readonly name: string;
  /** Undefined when the test was not run, or was interrupted. */
  readonly outcome: TestResult['outcome'] | undefined;
  readonly seconds: number;
  readonly message: string;
  readonly xml: string;
}

const CASE = /[ \t]*<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g;
const KIND = /^\[It\] /;
/** A failure's first lines say which step failed, and its last ones why; between them are the objects that it met. */
const MESSAGE_START = 600;
const MESSAGE_END = 1200;

/** The tests of a JUnit file; set-up and reports around them are not tests. */
export function parseJunit(xml: string): readonly JunitCase[] {
  return [...xml.matchAll(CASE)].flatMap(([whole, attributes = '', content = '']) => {
    const title = unescapeXml(attribute(attributes, 'name'));
    if (!KIND.test(title)) return [];
    const message = messageOf(content);
    return [
      {
        name: title.replace(KIND, ''),
        outcome: outcomeOf(attribute(attributes, 'status'), message),
        seconds: Number(attribute(attributes, 'time')),
        message: message.replace(OWN_SKIP, ''),
        xml: whole,
      },
    ];
  });
}

/** What the file says of the tests that were selected; one that was interrupted has no result. */
export function resultsOf(cases: readonly JunitCase[], selected: ReadonlySet<string>): readonly TestResult[] {
  return cases.flatMap(({ name, outcome, seconds, message }) => {
    if (!selected.has(name) || outcome === undefined) return [];
    return [{ name, outcome, seconds, ...(message === '' ? {} : { message }) }];
  });
}

const OWN_SKIP = /^skipped - /;

/** Of Ginkgo's states `interrupted`, `aborted` and `pending` decide nothing; a test that skipped itself says why. */
function outcomeOf(status: string, message: string): TestResult['outcome'] | undefined {
  if (status === 'passed') return 'passed';
  if (['failed', 'panicked', 'timedout'].includes(status)) return 'failed';
  return status === 'skipped' && OWN_SKIP.test(message) ? 'skipped' : undefined;
}

/** One JUnit file of several: of each selected test the last case that has an outcome. */
export function formatJunit(cases: readonly JunitCase[], selected: ReadonlySet<string>): string {
  const last = new Map<string, JunitCase>();
  for (const found of cases) {
    if (selected.has(found.name) && found.outcome !== undefined) last.set(found.name, found);
  }
  const kept = [...last.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const count = (outcome: TestResult['outcome']) => kept.filter((found) => found.outcome === outcome).length;
  const seconds = kept.reduce((sum, found) => sum + found.seconds, 0).toFixed(3);
  const counts = `tests="${kept.length}" failures="${count('failed')}" errors="0" time="${seconds}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="Kubernetes e2e suite" skipped="${count('skipped')}" ${counts}>`,
    ...kept.map(({ xml }) => xml),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function attribute(attributes: string, name: string): string {
  return new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(attributes)?.[1] ?? '';
}

function messageOf(content: string): string {
  const [, attributes = '', text = ''] =
    /<(?:failure|error|skipped)\b([^>]*?)(?:\/>|>([\s\S]*?)<\/)/.exec(content) ?? [];
  const said =
    [unescapeXml(attribute(attributes, 'message')), unescapeXml(text)].find((part) => part.trim() !== '') ?? '';
  const message = said.replace(/^\[FAILED\]\s*/, '').trim();
  return message.length <= MESSAGE_START + MESSAGE_END
    ? message
    : `${message.slice(0, MESSAGE_START)}\n...\n${message.slice(-MESSAGE_END)}`;
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function unescapeXml(text: string): string {
  return text.replace(/&(#x[0-9A-Fa-f]+|#\d+|[a-z]+);/g, (whole, name: string) => {
    if (name.startsWith('#x')) return String.fromCodePoint(Number.parseInt(name.slice(2), 16));
    if (name.startsWith('#')) return String.fromCodePoint(Number(name.slice(1)));
    return ENTITIES[name] ?? whole;
  });
}
