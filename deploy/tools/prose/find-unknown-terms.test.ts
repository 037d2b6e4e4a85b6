import { expect, it } from 'vitest';
import { findUnknownTerms } from './find-unknown-terms.ts';

it('reports terms that do not appear where the glossary says', () => {
  const page =
    '| term | meaning | where |\n| --- | --- | --- |\n| watch cache | A. | `a.ts` |\n| ring | B. | `a.ts` |\n';
  expect(findUnknownTerms(page, () => 'class WatchCache {}')).toEqual([
    { line: 4, problem: 'a.ts does not mention ring' },
  ]);
});
