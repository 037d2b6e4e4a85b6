import { describe, expect, it } from 'vitest';
import { findBrokenReferences } from './find-broken-references.ts';

const repository = {
  paths: new Set(['docs', 'docs/a.md', 'docs/b.md', 'packages', 'packages/base', 'packages/base/clock.ts']),
  scripts: new Set(['check']),
  readPage: () => '# One\n\n## The second, in full\n',
};
const broken = (page: string) =>
  findBrokenReferences('docs/a.md', page, repository).map(({ line, problem }) => `${line}: ${problem}`);

describe('findBrokenReferences', () => {
  it('accepts links, headings, paths and scripts that exist', () => {
    const page = [
      '# Here',
      '[b](b.md), [its part](b.md#the-second-in-full), [this](#here), [folder](../packages/base)',
      '`packages/base`, `packages/base/clock.ts`, `packages/{base,api}/*.ts`, `base/`, `clock.ts`, `npm run check`',
      '`.gantry/env`, `/etc/gantry/tls`, `kubernetes.io/name`, [web](https://example.com/nothing.md)',
    ];
    expect(broken(page.join('\n'))).toEqual([]);
  });

  it.each([
    ['[c](c.md)', 'c.md leads nowhere'],
    ['[b](b.md#third)', 'b.md#third leads nowhere'],
    ['[this](#there)', '#there leads nowhere'],
    ['`packages/api`', 'packages/api does not exist'],
    ['`packages/base/clocks.ts`', 'packages/base/clocks.ts does not exist'],
    ['`lock.ts`', 'lock.ts does not exist'],
    ['`bases/`', 'bases/ does not exist'],
    ['`npm run checks -- all`', 'there is no npm script checks'],
  ])('reports %s', (page, problem) => {
    expect(broken(`\n${page}`)).toEqual([`2: ${problem}`]);
  });

  it('reads commands in examples', () => {
    expect(broken('```sh\nnpm run all\nnpx vitest run packages/api other.ts\n```')).toEqual([
      '2: there is no npm script all',
      '3: packages/api does not exist',
    ]);
  });
});
