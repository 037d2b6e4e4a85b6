/**
 * `npm run shape [-- OPTION... FOLDER...]`: the numbers that describe how a codebase is cut, of this repository or of
 * each folder named. For orientation: no number is a rule.
 *   --json           prints the numbers as JSON
 *   --against FILE   beside numbers that `--json` printed before, and beside the best quartile of well-kept codebases
 *   --places         also lists the places behind the numbers
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { formatShape } from './shape/format-shape.ts';
import { type CodeShape, measureCode } from './shape/measure-code.ts';
import { readSourceFiles } from './shape/source-files.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const { values, positionals } = parseArgs({
  options: { json: { type: 'boolean' }, against: { type: 'string' }, places: { type: 'boolean' } },
  allowPositionals: true,
});
const before =
  values.against === undefined
    ? undefined
    : (JSON.parse(readFileSync(values.against, 'utf8')) as Readonly<Partial<CodeShape>>);

for (const folder of positionals.length === 0 ? [root] : positionals) {
  const { shape, places } = measureCode(readSourceFiles(resolve(folder)));
  if (values.json) {
    process.stdout.write(`${JSON.stringify(shape, undefined, 2)}\n`);
    continue;
  }
  if (positionals.length > 1) process.stdout.write(`${folder}\n`);
  process.stdout.write(formatShape(shape, before));
  if (!values.places) continue;
  for (const [title, lines] of Object.entries(places)) {
    process.stdout.write(`\n${title}: ${lines.length}\n${lines.map((line) => `  ${line}\n`).join('')}`);
  }
}
