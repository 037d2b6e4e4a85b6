/**
 * Generates protobuf code from proto/, object types from packages/apimachinery/schemas, the pictures of docs/pictures that have a source
 * in Graphviz' language, the tables of settings and of names in docs/conventions.md, those of metrics in docs/metrics.md, those of faults
 * in docs/chaos.md, and that of invariants in docs/chaos-checker.md. With `--verify`, fails when a file changes.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { instance } from '@viz-js/viz';
import { withSettings } from './settings-table.ts';
import { withFaults, withInvariants, withMetrics, withNames } from './tables.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const GENERATED = ['proto/src/gen', 'packages/etcd/src/gen', 'packages/objects/src/generated', 'docs'];

function snapshot(): ReadonlyMap<string, string> {
  const files = GENERATED.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  return new Map(files.map((file) => [relative(root, file), readFileSync(file, 'utf8')]));
}

/** Messages and services of etcd, from its own definitions, which the package etcd3 carries. Their options for an HTTP gateway need other files. */
function generateEtcd(): void {
  const folder = mkdtempSync(join(tmpdir(), 'etcd-proto-'));
  try {
    const source = join(dirname(fileURLToPath(import.meta.resolve('etcd3/package.json'))), 'proto');
    for (const name of readdirSync(source)) {
      const text = readFileSync(join(source, name), 'utf8');
      const plain = text.replace(/option \(google\.api\.http\) = \{.*?\};/gs, '').replaceAll('import "./', 'import "');
      writeFileSync(join(folder, name), plain);
    }
    const plugin = {
      local: join(root, 'node_modules/.bin/protoc-gen-es'),
      out: join(root, 'packages/etcd/src/gen'),
      opt: ['target=ts', 'import_extension=ts', 'erasable_syntax=true'],
    };
    const template = JSON.stringify({ version: 'v2', plugins: [plugin] });
    execFileSync(join(root, 'node_modules/.bin/buf'), ['generate', folder, '--template', template], {
      stdio: 'inherit',
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const before = snapshot();
execFileSync(join(root, 'node_modules/.bin/buf'), ['generate'], { cwd: join(root, 'proto'), stdio: 'inherit' });
generateEtcd();
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
writeFileSync(conventions, withNames(await withSettings(readFileSync(conventions, 'utf8'), root), root));
const metrics = join(root, 'docs/metrics.md');
writeFileSync(metrics, await withMetrics(readFileSync(metrics, 'utf8'), root));
const chaos = join(root, 'docs/chaos.md');
writeFileSync(chaos, await withFaults(readFileSync(chaos, 'utf8'), root));
const invariants = join(root, 'docs/chaos-checker.md');
writeFileSync(invariants, withInvariants(readFileSync(invariants, 'utf8'), root));
const after = snapshot();

const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
  (file) => before.get(file) !== after.get(file),
);
if (process.argv.includes('--verify') && changed.length > 0) {
  process.stderr.write(`generated code was out of date (it is not any more; commit it): ${changed.join(', ')}\n`);
  process.exitCode = 1;
}
