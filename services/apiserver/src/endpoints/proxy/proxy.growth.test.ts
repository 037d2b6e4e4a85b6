import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { systemClock } from '@gantry/base';
import { type GrowingInput, MAX_EXCESS, measureGrowth } from '@gantry/base/testing';
import { expect, it } from 'vitest';
import { Turns } from '../../turns.ts';
import { openPage } from './page-encoding.ts';
import { rewritePage } from './rewrite-html.ts';

const LARGEST = 8_000_000;
const turns = new Turns(systemClock);
const { signal } = new AbortController();

const PAGES: Readonly<Record<string, (i: number) => string>> = {
  links: (i) => `<a href=/${i}>`,
  attributes: (i) => (i === 0 ? '<a ' : `href=/${i} `),
  'open tags': (i) => (i === 0 ? '<a href="/' : '/'),
  'characters of escapes': (i) => (i === 0 ? '<a href="' : `&amp;${i}`),
  comments: (i) => `<!--${i}-`,
  scripts: (i) => (i === 0 ? '<script>' : `</scrip${i}`),
  text: (i) => `<p>${i}</p>`,
};

function pageOf(each: (i: number) => string, size: number): string {
  const parts: string[] = [];
  for (let length = 0, i = 0; length < size; i++) length += parts[parts.push(each(i)) - 1]?.length ?? 0;
  return parts.join('');
}

const INPUTS: readonly GrowingInput[] = Object.entries(PAGES).flatMap(([shape, each]) =>
  (['', 'gzip'] as const).map((encoding) => ({
    name: `links of a page: ${shape}${encoding === '' ? '' : ', compressed'}`,
    largest: LARGEST,
    prepare: (size: number) => {
      const page = Buffer.from(pageOf(each, size));
      const bytes = encoding === '' ? page : gzipSync(page);
      return async () => {
        const response = Object.assign(Readable.from([bytes]), { headers: { 'content-encoding': encoding } });
        const { plain } = await openPage(response);
        if (plain === undefined) return;
        for await (const _ of rewritePage(plain, { prefix: '/p', backend: 'b', asked: 'a' }, turns, signal)) continue;
      };
    },
  })),
);

it.each(INPUTS)('$name: linear time', async (input) => {
  const { report, excess } = await measureGrowth(input);
  process.stdout.write(report);
  expect(excess).toBeLessThan(MAX_EXCESS);
});
