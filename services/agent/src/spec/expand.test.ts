import { describe, expect, it } from 'vitest';
import { expand, expandAll } from './expand.ts';

describe('expand', () => {
  it.each([
    ['$(A)-$(B)', '1-$(B)'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$1'],
    ['$A $( $(A', '$A $( $(A'],
  ])('%s gives %s', (text, expected) => {
    expect(expand(text, new Map([['A', '1']]))).toBe(expected);
  });

  it('names the variables that are unknown or empty', () => {
    const variables = new Map([
      ['A', '1'],
      ['EMPTY', ''],
    ]);
    expect(expandAll('$(A)/$(Z)/$(EMPTY)/$$(B)', variables)).toEqual({ text: '1/$(Z)//$(B)', missing: ['EMPTY', 'Z'] });
  });
});
