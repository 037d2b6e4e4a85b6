import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffLines } from './line-diff.ts';

/** Applies a unified diff, trusting its line numbers. */
function patch(before: string, difference: string): string {
  const lines = before.split('\n');
  let shift = 0;
  let at = 0;
  for (const line of difference.split('\n')) {
    const head = /^@@ -(\d+)(?:,(\d+))? /.exec(line);
    if (head !== null) {
      at = Number(head[1]) + shift - (head[2] === '0' ? 0 : 1);
    } else if (line.startsWith('-')) {
      lines.splice(at, 1);
      shift--;
    } else if (line.startsWith('+')) {
      lines.splice(at++, 0, line.slice(1));
      shift++;
    } else if (line.startsWith(' ')) at++;
  }
  return lines.join('\n');
}

describe('the difference of two texts', () => {
  it('is empty for equal texts', () => {
    expect(diffLines('a\nb', 'a\nb')).toBe('');
  });

  it.each([4_000, 40_000])('handles %d lines in reverse order', (count) => {
    const lines = Array.from({ length: count }, (_, i) => `line ${i}`);
    const [before, after] = [lines.join('\n'), lines.toReversed().join('\n')];
    const difference = diffLines(before, after);
    expect(difference.match(/^[+-]/gm)).toHaveLength(count < 5_000 ? 2 * (count - 1) : 2 * count);
  });

  it('shows three lines around a change and where it stands', () => {
    const before = ['1', '2', '3', '4', '5', '6', '7', '8', '9'].join('\n');
    expect(diffLines(before, before.replace('5', 'five'))).toBe('@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n');
  });

  it('parts changes that are far from each other', () => {
    const lines = Array.from({ length: 20 }, (_, i) => `line ${i}`);
    const after = lines.map((line, i) => (i === 2 || i === 15 ? 'new' : line));
    expect(diffLines(lines.join('\n'), after.join('\n')).match(/^@@/gm)).toHaveLength(2);
  });

  it('puts the first of two equal blocks in front', () => {
    expect(diffLines('[\n{\nx\n}\n]', '[\n{\nx\n},\n{\nx\n}\n]')).toBe(
      '@@ -1,4 +1,7 @@\n [\n+{\n+x\n+},\n {\n x\n }\n',
    );
  });

  it('leads from the one text to the other', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', '{', '}'), { maxLength: 40 }).map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(text, text, (before, after) => {
        expect(patch(before, diffLines(before, after))).toBe(after);
      }),
    );
  });
});
