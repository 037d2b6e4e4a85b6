import type { SourceFile } from './source-files.ts';

/** Lines that stand a second time: where they begin, how many they are, and where they stand first. */
export interface RepeatedRun {
  readonly path: string;
  readonly line: number;
  readonly lines: number;
  readonly first: { readonly path: string; readonly line: number };
}

interface Line {
  readonly path: string;
  readonly number: number;
  readonly text: string;
}

/** How many lines in a row must be the same. */
const SHORTEST = 6;
const COMMENT = /^(?:\/\/|\/?\*)/;

/**
 * Runs of six or more lines that stand before, in the same file or in another. Space is not compared; blank lines,
 * comments, lines of brackets alone and the lines in `omitted` (imports) count as not there.
 */
export function repeatedRuns(
  files: readonly (SourceFile & { readonly omitted: ReadonlySet<number> })[],
): readonly RepeatedRun[] {
  const first = new Map<string, { readonly lines: readonly Line[]; readonly index: number }>();
  const runs: RepeatedRun[] = [];
  for (const file of files) {
    const lines = linesOf(file);
    let index = 0;
    while (index + SHORTEST <= lines.length) {
      const window = windowAt(lines, index);
      const earlier = first.get(window);
      if (earlier === undefined || (earlier.lines === lines && earlier.index + SHORTEST > index)) {
        if (earlier === undefined) first.set(window, { lines, index });
        index += 1;
        continue;
      }
      const length = sameLines(earlier.lines, earlier.index, lines, index);
      const [start, origin] = [lines[index], earlier.lines[earlier.index]];
      if (start !== undefined && origin !== undefined) {
        const at = { path: origin.path, line: origin.number };
        runs.push({ path: start.path, line: start.number, lines: length, first: at });
      }
      index += length;
    }
  }
  return runs;
}

function linesOf(file: SourceFile & { readonly omitted: ReadonlySet<number> }): readonly Line[] {
  return file.text
    .split('\n')
    .map((text, index) => ({ path: file.path, number: index + 1, text: text.replace(/\s+/g, '') }))
    .filter(({ text, number }) => /\w/.test(text) && !COMMENT.test(text) && !file.omitted.has(number));
}

function windowAt(lines: readonly Line[], index: number): string {
  return lines
    .slice(index, index + SHORTEST)
    .map(({ text }) => text)
    .join('\n');
}

/** How many lines are the same from there on; two places in one file do not overlap. */
function sameLines(one: readonly Line[], from: number, other: readonly Line[], at: number): number {
  let length = 0;
  while (
    at + length < other.length &&
    one[from + length]?.text === other[at + length]?.text &&
    (one !== other || from + length < at)
  ) {
    length += 1;
  }
  return length;
}
