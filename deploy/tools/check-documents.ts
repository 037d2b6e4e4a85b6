/** Reports where the tables of metrics, and of our labels and annotations in the pages differ from the code. */
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findMetricFaults } from './prose/find-metric-faults.ts';
import { findNameFaults } from './prose/find-name-faults.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** The code of what runs in a cluster, without its tests. */
const sources = new Map(
  globSync('{packages,services}/*/src/**/*.ts', { cwd: root })
    .filter((path) => !path.endsWith('.test.ts') && !path.includes('/testing/'))
    .map((path) => [path, read(path)] as const),
);

const faults = [
  ...findNameFaults(read('docs/conventions.md'), sources).map((fault) => ({ page: 'docs/conventions.md', ...fault })),
  ...findMetricFaults(read('docs/metrics.md'), sources).map((fault) => ({ page: 'docs/metrics.md', ...fault })),
];
for (const { page, line, problem } of faults) process.stderr.write(`${page}:${line}: ${problem}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
