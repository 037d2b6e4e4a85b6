import { expect, it } from 'vitest';
import { findStaleExcerpts } from './find-stale-excerpts.ts';

const read = (path: string) => (path === 'a.ts' ? 'const a = 1;\nconst b = 2;\n' : undefined);

it('accepts excerpts, and code of no file', () => {
  expect(findStaleExcerpts('```ts a.ts\nconst b = 2;\n```\n\n```ts\nconst c = 3;\n```\n', read)).toEqual([]);
});

it('reports code that the file does not have', () => {
  const page = 'Text.\n\n```ts a.ts\nconst b = 3;\n```\n\n```ts b.ts\nconst b = 2;\n```\n';
  expect(findStaleExcerpts(page, read)).toEqual([
    { line: 3, problem: 'the code is not an excerpt of a.ts' },
    { line: 7, problem: 'the code is not an excerpt of b.ts' },
  ]);
});
