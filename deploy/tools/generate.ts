/**
 * Generates protobuf code from proto/, object types from packages/apimachinery/schemas, the pictures of docs/pictures that have a source
 * in Graphviz' language, and the table of settings in docs/conventions.md. With `--verify`, fails when a file changes.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { instance } from '@viz-js/viz';
import { withSettings } from './settings-table.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const GENERATED = ['proto/src/gen', 'packages/objects/src/generated', 'docs'];

function snapshot(): ReadonlyMap<string, string> {
  const files = GENERATED.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  return new Map(files.map((file) => [relative(root, file), readFileSync(file, 'utf8')]));
}

const before = snapshot();
execFileSync(join(root, 'node_modules/.bin/buf'), ['generate'], { cwd: join(root, 'proto'), stdio: 'inherit' });
execFileSync(process.execPath, [join(root, 'packages/apimachinery/tools/import-schemas.ts')], {
  cwd: root,
  stdio: 'inherit',
});
const viz = await instance();
const pictures = join(root, 'docs/pictures');
for (const name of readdirSync(pictures).filter((file) => file.endsWith('.dot'))) {
  const source = readFileSync(join(pictures, name), 'utf8');
  writeFileSync(join(pictures, name.replace(/dot$/, 'svg')), viz.renderString(source, { format: 'svg' }));
}
const conventions = join(root, 'docs/conventions.md');
writeFileSync(conventions, await withSettings(readFileSync(conventions, 'utf8'), root));
const after = snapshot();

const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
  (file) => before.get(file) !== after.get(file),
);
if (process.argv.includes('--verify') && changed.length > 0) {
  process.stderr.write(`generated code was out of date (it is not any more; commit it): ${changed.join(', ')}\n`);
  process.exitCode = 1;
}
