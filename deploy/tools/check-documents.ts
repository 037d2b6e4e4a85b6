/**
 * Reports what Markdown pages name and the repository does not have: links, paths, npm scripts, excerpts of files and terms of
 * the glossary; and where the tables of variables, metrics, and our labels and annotations differ from the code.
 */
import { globSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findBrokenReferences } from './prose/find-broken-references.ts';
import { findMetricFaults } from './prose/find-metric-faults.ts';
import { findNameFaults } from './prose/find-name-faults.ts';
import { findSettingFaults } from './prose/find-setting-faults.ts';
import { findStaleExcerpts } from './prose/find-stale-excerpts.ts';
import { findUnknownTerms } from './prose/find-unknown-terms.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const GENERATED = ['node_modules', 'dist', 'dist-tools', '.git', '.gantry'];
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const paths = new Set(globSync('**/*', { cwd: root, exclude: (name) => GENERATED.includes(basename(name)) }));
const manifest = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> };
const repository = { paths, scripts: new Set(Object.keys(manifest.scripts)), readPage: read };
const pages = [...paths].filter((path) => path.endsWith('.md'));

/** The text of a file, or of all files in a folder. */
const readAll = (path: string) =>
  [...paths]
    .filter((file) => (file === path || file.startsWith(`${path}/`)) && statSync(join(root, file)).isFile())
    .map(read)
    .join('\n');

/** The texts of the services' `config.ts`, by the services' names. */
const configs = new Map(
  [...paths].flatMap((path) => {
    const [, service] = /^services\/([^/]+)\/src\/config\.ts$/.exec(path) ?? [];
    return service === undefined ? [] : [[service, read(path)] as const];
  }),
);

/** The code of what runs in a cluster, without its tests. */
const sources = new Map(
  [...paths]
    .filter(
      (path) => /^(?:packages|services)\/[^/]+\/src\/.*(?<!\.test)\.ts$/.test(path) && !path.includes('/testing/'),
    )
    .map((path) => [path, read(path)] as const),
);

let problems = 0;
for (const page of pages) {
  const text = read(page);
  const broken = [
    ...findBrokenReferences(page, text, repository),
    ...findStaleExcerpts(text, (path) => (paths.has(path) ? read(path) : undefined)),
    ...(page === 'docs/glossary.md' ? findUnknownTerms(text, readAll) : []),
    ...(page === 'docs/conventions.md' ? [...findSettingFaults(text, configs), ...findNameFaults(text, sources)] : []),
    ...(page === 'docs/metrics.md' ? findMetricFaults(text, sources) : []),
  ];
  for (const { line, problem } of broken) {
    problems++;
    process.stderr.write(`${page}:${line}: ${problem}\n`);
  }
}
process.stdout.write(`${pages.length} pages, ${problems} problems\n`);
process.exitCode = problems === 0 ? 0 : 1;
