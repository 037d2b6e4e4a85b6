import { describe, expect, it } from 'vitest';
import { expand } from './expand.ts';

describe('expand', () => {
  it.each([
    ['$(A)-$(B)', '1-$(B)'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$1'],
    ['$A $( $(A', '$A $( $(A'],
  ])('%s gives %s', (text, expected) => {
    expect(expand(text, new Map([['A', '1']]))).toBe(expected);
  });
});
