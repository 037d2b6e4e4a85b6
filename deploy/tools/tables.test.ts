import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withInvariants, withMetrics, withNames } from './tables.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tables-'));
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

const HEAD = '| name | on | meaning |\n| --- | --- | --- |\n';
const USED = '| `gantry.dev/used` | pods | as written |\n';

test('a name that the code does not have loses its row, and the others keep their texts', () => {
  write('packages/a/src/a.ts', "const NAME = 'gantry.dev/used';");
  write('packages/a/src/a.test.ts', "const NAME = 'gantry.dev/gone';");
  expect(withNames(`${HEAD}${USED}| \`gantry.dev/gone\` | pods | old |\n`, root)).toBe(`${HEAD}${USED}`);
});

test('a name without a row is an error', () => {
  write('services/a/src/a.ts', "const NAMES = ['gantry.dev/used', 'gantry.dev/new'];");
  expect(() => withNames(`${HEAD}${USED}`, root)).toThrow('does not say what gantry.dev/new means');
});

test('the metrics of a workspace replace the rows at its place', async () => {
  const code = `export function meter(metrics, source) {
    metrics.counter('b_total', 'B', ['code']);
    metrics.gauge('a', 'A', [], (gauge) => gauge.set(source.list().length));
  }`;
  write('services/a/src/a-meters.ts', code);
  const head = '| metric | type | labels | what |\n| --- | --- | --- | --- |\n';
  const place = '<!-- metrics of services/a -->\n';
  const rows = '| `a` | gauge |  | A |\n| `b_total` | counter | `code` | B |\n';
  expect(await withMetrics(`${place}| old |\n\nend\n`, root)).toBe(`${place}${head}${rows}\nend\n`);
  await expect(withMetrics('end\n', root)).rejects.toThrow('has no place for the metrics of services/a');
});

test('each invariant has a row, from the comment before it', () => {
  const comment = (id: string) =>
    `/**\n * ${id} (etcd: Ordered). Versions\n * of a/b never fall.\n */\nexport const ordered = 1;\n`;
  write('packages/chaos-checker/src/invariants/b.ts', comment('I10'));
  write(
    'packages/chaos-checker/src/invariants/a.ts',
    `/** Something else. */\nexport const other = 1;\n${comment('I2')}`,
  );
  const head = '| invariant | what is checked | as in |\n| --- | --- | --- |\n';
  const rows =
    '| I2 | Versions of a/b never fall. | etcd: Ordered |\n| I10 | Versions of a/b never fall. | etcd: Ordered |\n';
  expect(withInvariants(`<!-- invariants -->\n${head}| I1 | old | x |\nend`, root)).toBe(
    `<!-- invariants -->\n${head}${rows}end`,
  );
});
