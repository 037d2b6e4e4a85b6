import { expect, it } from 'vitest';
import { repeatedRuns } from './repeated-runs.ts';

const file = (path: string, lines: readonly string[], omitted: readonly number[] = []) => ({
  path,
  text: lines.join('\n'),
  omitted: new Set(omitted),
});
const numbered = (from: number, count: number) => Array.from({ length: count }, (_, index) => `line${from + index}();`);

it('reports a run of six lines that stands in two files, and none of five', () => {
  const one = file('one.ts', numbered(0, 10));
  expect(repeatedRuns([one, file('two.ts', ['start();', ...numbered(2, 6), 'end();'])])).toEqual([
    { path: 'two.ts', line: 2, lines: 6, first: { path: 'one.ts', line: 3 } },
  ]);
  expect(repeatedRuns([one, file('two.ts', [...numbered(2, 5), 'end();'])])).toEqual([]);
});

it('compares without space, blank lines, comments, brackets alone and omitted lines', () => {
  const one = file('one.ts', numbered(0, 6));
  const [first = '', ...rest] = numbered(0, 6);
  const two = file(
    'two.ts',
    ['import a;', `  ${first}`, '', '// A comment.', '}', '/** Another', ' * one. */', ...rest],
    [1],
  );
  expect(repeatedRuns([one, two])).toEqual([{ path: 'two.ts', line: 2, lines: 6, first: { path: 'one.ts', line: 1 } }]);
});

it('reports a longer run once, and a third copy as a second run', () => {
  const copies = ['a.ts', 'b.ts', 'c.ts'].map((path) => file(path, numbered(0, 20)));
  expect(repeatedRuns(copies).map(({ path, lines }) => [path, lines])).toEqual([
    ['b.ts', 20],
    ['c.ts', 20],
  ]);
});

it('reports a run that repeats within one file, but not one that overlaps itself', () => {
  expect(repeatedRuns([file('a.ts', [...numbered(0, 6), 'between();', ...numbered(0, 6)])])).toHaveLength(1);
  expect(
    repeatedRuns([
      file(
        'a.ts',
        Array.from({ length: 7 }, () => 'same();'),
      ),
    ]),
  ).toEqual([]);
});
