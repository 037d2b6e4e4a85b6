import fc from 'fast-check';
import { RE2JS } from 're2js';
import { expect, it } from 'vitest';
import { patternSize } from './pattern-size.ts';

const atoms = [
  'a',
  '.',
  '\\d',
  '\\pL',
  '\\p{Greek}',
  '\\x{41}',
  '[a-z]',
  '[^]\\]]',
  '[[:alpha:]_]',
  '\\Qa{9}\\E',
  '^',
  '$',
  '\\b',
  '(?i)k',
  'é',
];
const repeats = ['*', '+', '?', '{3}', '{2,}', '{0,7}', '{4,9}?', '{0}', '{,5}', '*?'];

const pattern = fc.letrec<{ pattern: string; piece: string }>((tie) => ({
  pattern: fc.array(tie('piece'), { maxLength: 4 }).map((pieces) => pieces.join('')),
  piece: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(...atoms),
    fc.tuple(tie('pattern'), fc.constantFrom(...repeats)).map(([inner, repeat]) => `(${inner})${repeat}`),
    fc.tuple(fc.constantFrom(...atoms), fc.constantFrom(...repeats)).map((parts) => parts.join('')),
    fc.tuple(tie('pattern'), tie('pattern')).map(([left, right]) => `(?:${left}|${right})`),
  ),
})).pattern;

it('is at least the number of instructions', () => {
  fc.assert(
    fc.property(pattern, (text) => {
      let compiled: RE2JS;
      try {
        compiled = RE2JS.compile(text);
      } catch {
        return;
      }
      expect(patternSize(text)).toBeGreaterThanOrEqual(compiled.programSize());
    }),
    { numRuns: 1_000, seed: 7 },
  );
});

it.each([
  ['^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', 30],
  ['a{1000}', 1_100],
  ['(a{30}){30}', 1_100],
  ["^[\\p{L}\\p{N} .'-]{1,255}$", 600],
  ['\\x{41}{9}', 15],
  [`\\Q${'{9}'.repeat(9)}\\E`, 40],
])('of %s is not far above them', (text, most) => {
  expect(patternSize(text)).toBeLessThanOrEqual(most);
});
