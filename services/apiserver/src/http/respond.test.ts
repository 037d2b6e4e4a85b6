import { describe, expect, it } from 'vitest';
import { formatWarnings } from './respond.ts';

describe('formatWarnings', () => {
  it.each([
    [['plain'], ['299 - "plain"']],
    [['a "b" \\c'], ['299 - "a \\"b\\" \\\\c"']],
    [['', 'two\nlines', 'kept'], ['299 - "kept"']],
  ])('of %j is %j', (texts, expected) => {
    expect(formatWarnings(texts)).toEqual(expected);
  });

  it('gives long texts whole while all fit, and cuts each when they do not', () => {
    expect(formatWarnings(['x'.repeat(4096)])).toEqual([`299 - "${'x'.repeat(4096)}"`]);
    const many = Array.from({ length: 30 }, (_, index) => `${index} ${'x'.repeat(300)}`);
    const cut = formatWarnings(many);
    expect(cut).toHaveLength(16);
    expect(cut[0]).toHaveLength(256 + '299 - ""'.length);
  });
});
