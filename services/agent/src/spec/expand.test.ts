import { describe, expect, it } from 'vitest';
import { expand, expandAll } from './expand.ts';

describe('expand', () => {
  it.each([
    ['$(A)-$(B)', '1-$(B)'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$1'],
    ['$A $( $(A', '$A $( $(A'],
    ['$($(A)', '$($(A)'],
    ['$(A$(A)$', '$(A$(A)$'],
    ['$$$$(A)$(A)', '$$(A)1'],
    ['', ''],
  ])('%s gives %s', (text, expected) => {
    expect(expand(text, new Map([['A', '1']]))).toBe(expected);
  });

  it('takes linear time for references that never end', () => {
    const text = '$('.repeat(500_000);
    expect(expand(text, new Map())).toBe(text);
  });

  it.each([
    ['a$(A)ü$$(A)$(NONE)$(A)', 'aéü$(A)$(NONE)é'],
    ['$(', '$('],
  ])('tells the bytes of what %s gives before it builds that', (text, expected) => {
    const sizes: number[] = [];
    expect(expand(text, new Map([['A', 'é']]), (bytes) => sizes.push(bytes))).toBe(expected);
    expect(sizes).toEqual([Buffer.byteLength(expected)]);
  });

  it('builds nothing that does not fit', () => {
    const refuse = (bytes: number) => {
      throw new RangeError(`${bytes}`);
    };
    // No string can be as long.
    const text = '$(A)'.repeat(100_000);
    expect(() => expand(text, new Map([['A', 'x'.repeat(2 ** 20)]]), refuse)).toThrow(`${100_000 * 2 ** 20}`);
  });

  it('names the variables that are unknown or empty', () => {
    const variables = new Map([
      ['A', '1'],
      ['EMPTY', ''],
    ]);
    expect(expandAll('$(A)/$(Z)/$(EMPTY)/$$(B)', variables)).toEqual({ text: '1/$(Z)//$(B)', missing: ['EMPTY', 'Z'] });
  });
});
