import { append } from '@gantry/base';
/**
 * Transcripts: what a person types and what is answered, as text.
 *
 *     # a comment
 *     >>> web.yaml            the lines up to <<< become this file
 *     ...
 *     <<<
 *     $ kubectl get pods      a line for the shell; lines that end with \ go on
 *     No resources found      what it prints to stdout
 *     ! warning: ...          what it prints to stderr
 *     ? 1                     its exit code, where it is not 0
 *
 * `[<34] `, `[>=28] `, `[=27] ` (also several: `[>=29,<33] `) before an expected line says for which minor versions it holds. `<age>` and
 * the like stand for what differs from run to run (PLACEHOLDERS). `\` before a line that is printed but would mean something.
 * Variables of the run stand as `$NAME`. How many blanks stand between columns, and blank lines at the end, do not matter.
 */

/** What one line for the shell must do. */
export interface Step {
  readonly line: number;
  readonly command: string;
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  readonly code: number;
}

export interface Transcript {
  readonly files: ReadonlyMap<string, string>;
  readonly steps: readonly Step[];
}

export interface Answer {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

const PLACEHOLDERS: Readonly<Record<string, string>> = {
  age: String.raw`(?:\d+[smhdy]|\d+m\d+s|\d+h\d+m|\d+d\d+h)`,
  int: String.raw`\d+`,
  hash: '[a-z0-9]{4,10}',
  uid: '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
  ip: String.raw`\d+\.\d+\.\d+\.\d+`,
  time: String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`,
  date: String.raw`\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}`,
  url: String.raw`https://[a-z0-9.-]+:\d+`,
  path: String.raw`/[\w./+-]+`,
};

type Stream = 'stdout' | 'stderr';
interface OpenStep {
  readonly line: number;
  readonly command: string;
  readonly stdout: string[];
  readonly stderr: string[];
  code: number;
}

const GUARD = /^\[((?:(?:<|>=|=)\d+,?)+)\] ?/;

function holds(conditions: string, minor: number): boolean {
  return conditions.split(',').every((condition) => {
    const [, operator, text] = /^(<|>=|=)(\d+)$/.exec(condition) ?? [];
    const than = Number(text);
    if (operator === '<') return minor < than;
    return operator === '>=' ? minor >= than : minor === than;
  });
}

/** The text with the variables of the run in place of `$NAME`. */
export function expand(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$([A-Z]+)\b/g, (whole, name: string) => variables[name] ?? whole);
}

/** The transcript as it holds for one minor version. Throws, naming the line, where it is none. */
export function parseTranscript(
  text: string,
  minor: number,
  variables: Readonly<Record<string, string>> = {},
): Transcript {
  const files = new Map<string, string>();
  const steps: OpenStep[] = [];
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; at++) {
    let line = lines[at] ?? '';
    if (line.startsWith('>>> ')) {
      const end = lines.indexOf('<<<', at);
      if (end === -1) throw new Error(`line ${at + 1}: no <<< ends this file`);
      files.set(line.slice(4).trim(), expand(`${lines.slice(at + 1, end).join('\n')}\n`, variables));
      at = end;
      continue;
    }
    if (line.startsWith('$ ')) {
      const begin = at + 1;
      while (line.endsWith('\\') && at + 1 < lines.length) line = `${line}\n${lines[++at] ?? ''}`;
      steps.push({ line: begin, command: line.slice(2), stdout: [], stderr: [], code: 0 });
      continue;
    }
    if (line === '#' || line.startsWith('# ')) continue;
    const step = steps.at(-1);
    if (step === undefined) {
      if (line.trim() === '') continue;
      throw new Error(`line ${at + 1}: an answer before any command`);
    }
    expectLine(step, line, minor, variables);
  }
  return { files, steps };
}

function expectLine(step: OpenStep, text: string, minor: number, variables: Readonly<Record<string, string>>): void {
  const guard = GUARD.exec(text);
  if (guard !== null && !holds(guard[1] ?? '', minor)) return;
  const line = expand(text.slice(guard?.[0].length ?? 0), variables);
  const code = /^\? (\d+)$/.exec(line);
  if (code !== null) step.code = Number(code[1]);
  else if (line.startsWith('! ') || line === '!') step.stderr.push(line.slice(2));
  else step.stdout.push(line.startsWith('\\') ? line.slice(1) : line);
}

/** A line without what a column's width depends on. */
function squeeze(line: string): string {
  const indent = /^ */.exec(line)?.[0] ?? '';
  return (
    indent +
    line
      .slice(indent.length)
      .trimEnd()
      .replaceAll(/\t|[ \t]{2,}/g, '  ')
  );
}

function linesOf(text: readonly string[]): readonly string[] {
  const lines = text.map(squeeze);
  while (lines.at(-1) === '') lines.pop();
  return lines;
}

function lineMatches(expected: string, actual: string): boolean {
  if (expected === actual) return true;
  const parts = expected.split(/<([a-z]+)>/);
  if (parts.length === 1) return false;
  const pattern = parts.map((part, index) => {
    const literal = part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
    if (index % 2 === 0) return literal;
    return PLACEHOLDERS[part] ?? `<${literal}>`;
  });
  return new RegExp(`^${pattern.join('')}$`).test(actual);
}

/** How the answer differs from what was expected, as a transcript with - and +; nothing where it does not. */
export function differences(step: Step, answer: Answer): readonly string[] {
  const found = (['stdout', 'stderr'] as const).flatMap((stream) => streamDifferences(stream, step, answer));
  if (answer.code !== step.code) found.push(`- ? ${step.code}`, `+ ? ${answer.code}`);
  return found.length === 0 ? [] : [`  line ${step.line}: $ ${step.command}`, ...found];
}

function streamDifferences(stream: Stream, step: Step, answer: Answer): string[] {
  const expected = linesOf(step[stream]);
  const actual = linesOf(answer[stream].split('\n'));
  const mark = stream === 'stderr' ? '! ' : '';
  const found: string[] = [];
  const same = expected.length === actual.length && expected.every((line, at) => lineMatches(line, actual[at] ?? ''));
  if (same) return found;
  let [begin, endExpected, endActual] = [0, expected.length, actual.length];
  while (begin < Math.min(endExpected, endActual) && lineMatches(expected[begin] ?? '', actual[begin] ?? '')) begin++;
  while (
    Math.min(endExpected, endActual) > begin &&
    lineMatches(expected[endExpected - 1] ?? '', actual[endActual - 1] ?? '')
  ) {
    endExpected--;
    endActual--;
  }
  append(
    found,
    expected.slice(begin, endExpected).map((line) => `- ${mark}${line}`),
  );
  append(
    found,
    actual.slice(begin, endActual).map((line) => `+ ${mark}${line}`),
  );
  return found;
}
