/** Reports where the tables of metrics, and of our labels and annotations, in the pages differ from the code. */
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findTableFaults, labelsOf, metricsOf } from './table-faults.ts';

const root = resolve(import.meta.dirname, '../..');
/** The code of what runs in a cluster, without its tests. */
const paths = globSync('{packages,services}/*/src/**/*.ts', { cwd: root }).filter(
  (path) => !path.endsWith('.test.ts') && !path.includes('/testing/'),
);

function check(page: string, namesOf: (code: string) => readonly string[]): void {
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  const files = new Map(paths.map((path) => [path, namesOf(read(path))]));
  for (const fault of findTableFaults(read(page), files)) {
    process.stderr.write(`${page}: ${fault}\n`);
    process.exitCode = 1;
  }
}

check('docs/metrics.md', metricsOf);
check('docs/conventions.md', labelsOf);
