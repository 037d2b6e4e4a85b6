import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { formatShape } from './format-shape.ts';
import { measureCode } from './measure-code.ts';
import { isTest, readSourceFiles } from './source-files.ts';

const long = (name: string, parameters: string) =>
  `export function ${name}(${parameters}) {\n${Array.from({ length: 59 }, (_, line) => `  ${name}Step${line}();\n`).join('')}}\n`;

const SAMPLE = [
  { path: 'src/a.ts', text: `/** Documented. */\n${long('one', 'a, b, c, d')}` },
  { path: 'src/b.ts', text: 'export const two = () => {\n  return 2;\n};\n' },
  { path: 'src/b.test.ts', text: `${long('three', 'a')}it(() => {});\n` },
];

it('measures code without its tests, and tests by their lines', () => {
  const { shape, places } = measureCode(SAMPLE);
  expect(shape).toMatchObject({
    files: 2,
    fileMedian: 3,
    fileLongest: 62,
    functions: 2,
    functionsOver50: 1,
    functionLongest: 61,
    functionsOver3Parameters: 50,
    exportsDocumented: 50,
    repeatedRuns: 0,
    testShare: 0.95,
  });
  expect(places['functions over 50 lines']).toEqual(['src/a.ts:2 one (61)']);
  expect(places['exports without a comment']).toEqual(['src/b.ts:1 two']);
});

it('measures nothing at all without dividing by it', () => {
  expect(Object.values(measureCode([]).shape).every((value) => value === 0)).toBe(true);
});

it('prints what was before and what is best beside the numbers', () => {
  const { shape } = measureCode(SAMPLE);
  expect(formatShape(shape)).toMatch(/^files +2$/m);
  const table = formatShape(shape, { fileLongest: 499 });
  expect(table).toMatch(/^ +before +now +best quartile$/m);
  expect(table).toMatch(/^lines of a file, longest +499 +62 +450$/m);
  expect(table).toMatch(/^lines of a file, median +- +3 +110$/m);
});

it.each([
  ['packages/a/src/b.test.ts', true],
  ['packages/a/src/testing/b.ts', true],
  ['integration-tests/src/b.ts', true],
  ['src/latest/b.ts', false],
  ['src/contest.ts', false],
])('knows whether %s is a test: %s', (path, expected) => {
  expect(isTest(path)).toBe(expected);
});

it('reads the TypeScript of a folder without what is installed, built or generated', () => {
  const folder = mkdtempSync(join(tmpdir(), 'shape-'));
  try {
    for (const path of [
      'b.ts',
      'a/c.tsx',
      'a/d.d.ts',
      'node_modules/e.ts',
      'dist/f.ts',
      'gen/g.ts',
      '.h/i.ts',
      'j.js',
    ]) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), `// ${path}\n`);
    }
    expect(readSourceFiles(folder)).toEqual([
      { path: 'a/c.tsx', text: '// a/c.tsx\n' },
      { path: 'b.ts', text: '// b.ts\n' },
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
