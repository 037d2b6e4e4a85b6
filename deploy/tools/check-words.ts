/**
 * Reports words of the list in `prose/terms.ts` in comments, messages, test titles, names and Markdown, each with what to
 * write instead. Generated files and recorded answers are not read.
 *
 *   node deploy/tools/check-words.ts [FOLDER...]
 */
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findTerms } from './prose/find-terms.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

const SKIPPED = ['node_modules', 'dist', 'dist-tools', 'gen', 'generated', 'schemas', '.gantry'];
/** What the list and its test are about. */
const QUOTES_THE_LIST = ['deploy/tools/prose/terms.ts', 'deploy/tools/prose/find-terms.test.ts'];
const READ = /\.(?:[cm]?[jt]s|md|sh|ya?ml|proto|cfg|Dockerfile)$|^[^.]+$/;

const wanted = process.argv.slice(2);
const isWanted = (file: string) =>
  wanted.length === 0 || wanted.some((path) => file === path || file.startsWith(`${path}/`));
const files = globSync('{*,*/**/*}', { cwd: root, exclude: (name) => SKIPPED.includes(basename(name)) })
  .filter((file) => READ.test(basename(file)) && !QUOTES_THE_LIST.includes(file) && isWanted(file))
  .sort();

let problems = 0;
let read = 0;
for (const file of files) {
  const source = readText(join(root, file));
  if (source === undefined) continue;
  read++;
  for (const { line, found, instead } of findTerms(file, source)) {
    problems++;
    process.stderr.write(`${file}:${line}: "${found.replace(/\s+/g, ' ')}": ${instead}\n`);
  }
}
process.stdout.write(`${read} files, ${problems} problems\n`);
process.exitCode = problems === 0 ? 0 : 1;

/** The text of a file; undefined for a folder. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EISDIR') return undefined;
    throw error;
  }
}
