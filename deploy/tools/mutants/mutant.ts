/** A line that protects something, and how to take it out. */
export interface Mutant {
  /** Unique, in words: what is gone once the line is taken out. */
  readonly name: string;
  /** From the repository's root. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly text: string;
  /** What stands there instead. It must load: a file that cannot be loaded proves nothing. */
  readonly replacement: string;
  /** Unit test files, from the repository's root; at least one of their tests must fail. As few as possible. */
  readonly tests: readonly string[];
  /** What the line protects from. */
  readonly protects: string;
}

/** Mutants by area. */
export type Areas = Readonly<Record<string, readonly Mutant[]>>;

/** The source without its protection. `undefined` when the text is not there exactly once. */
export function mutate(source: string, { text, replacement }: Mutant): string | undefined {
  const at = source.indexOf(text);
  if (at < 0 || source.indexOf(text, at + 1) >= 0) return undefined;
  return source.slice(0, at) + replacement + source.slice(at + text.length);
}

/** What is wrong with a list: a text that has gone or stands twice, a test file that is missing, a repeated name. */
export function findProblems(
  mutants: readonly Mutant[],
  read: (file: string) => string | undefined,
): readonly string[] {
  const names = new Set<string>();
  return mutants.flatMap((mutant) => {
    const problems: string[] = [];
    const { name, file, text, replacement, tests } = mutant;
    if (names.has(name)) problems.push('another mutant has this name');
    names.add(name);
    if (text.trim() === '') problems.push('it has no text');
    else if (text === replacement) problems.push('its replacement is the text itself');
    const source = read(file);
    if (source === undefined) problems.push(`${file} does not exist`);
    else if (text !== '' && mutate(source, mutant) === undefined) {
      problems.push(`${file} has its text ${source.split(text).length - 1} times, not once`);
    }
    if (tests.length === 0) problems.push('it names no test file');
    for (const test of tests) if (read(test) === undefined) problems.push(`${test} does not exist`);
    return problems.map((problem) => `${name}: ${problem}`);
  });
}
