import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A label, annotation or signer of ours on objects of the API (`gantry.dev/name`), or a label on containers (`gantry.name`). */
const NAME =
  /(?<=['`"])((?:[a-z]+\.)?gantry\.dev\/[a-z-]+|gantry\.(?!dev\b|db\b|key\b|svg\b)[a-z]+(?:[-.][a-z]+)*)(?=['`"])/g;
const NAMES = /(?<=^\| name \| on .*\n.*\n)(?:\|.*\n)+/m;
const FAULTS = /^<!-- (\S+\.ts) ([A-Z_]+) -->\n/gm;
const FAULT_TABLES = /(^<!-- \S+\.ts [A-Z_]+ -->\n)(?:\|.*\n)*/gm;
const INVARIANTS = /(?<=^<!-- invariants -->\n)(?:\|.*\n)*/m;
const METRICS = /(?<=^<!-- metrics of (\S+) -->\n)(?:\|.*\n)*/gm;

/** The page without the rows of names that the code of a cluster's processes no longer has. Throws for a name without a row. */
export function withNames(page: string, root: string): string {
  const files = globSync('{packages,services}/*/src/**/*.ts', { cwd: root }).filter(
    (path) => !path.endsWith('.test.ts') && !path.includes('/testing/'),
  );
  const names = new Set(files.flatMap((path) => readFileSync(join(root, path), 'utf8').match(NAME) ?? []));
  return page.replace(NAMES, (table) => {
    const rows = table.split(/(?<=\n)/).filter((row) => names.has(row.split('`')[1] ?? ''));
    const missing = [...names].filter((name) => !page.includes(`| \`${name}\` |`));
    if (missing.length === 0) return rows.join('');
    throw new Error(
      `docs/conventions.md does not say what ${missing.join(', ')} means: add a row to its table of names`,
    );
  });
}

/**
 * The page with the metrics of each workspace that it names, as the functions of files named `meters.ts` or `NAME-meters.ts` create them.
 * Their first parameter is the process' metrics.
 */
export async function withMetrics(page: string, root: string): Promise<string> {
  const rows = new Map<string, string[]>();
  for (const path of globSync('{packages,services}/*/src/**/{*-,}meters.ts', { cwd: root }).sort()) {
    const workspace = path.split('/', 2).join('/');
    const found = rows.get(workspace) ?? [];
    rows.set(workspace, found);
    for (const create of Object.values((await import(join(root, path))) as Record<string, unknown>)) {
      if (typeof create === 'function') call(create, (row) => found.includes(row) || found.push(row));
    }
    if (!page.includes(`<!-- metrics of ${workspace} -->`))
      throw new Error(`docs/metrics.md has no place for the metrics of ${workspace}`);
  }
  const head = '| metric | type | labels | what |\n| --- | --- | --- | --- |\n';
  return page.replace(METRICS, (_, workspace: string) => head + (rows.get(workspace) ?? []).sort().join(''));
}

/** What docs/chaos.md says of a kind of fault or of a workload. */
interface Described {
  readonly kind?: string;
  readonly name?: string;
  readonly what: string;
}

/** The page with a table of each list that it names: `<!-- MODULE LIST -->`, by the path of the module in deploy/src/chaos. */
export async function withFaults(page: string, root: string): Promise<string> {
  const tables = new Map<string, string>();
  for (const [place = '', path = '', list = ''] of page.matchAll(FAULTS)) {
    const module = (await import(join(root, 'deploy/src/chaos', path))) as Readonly<
      Record<string, readonly Described[]>
    >;
    const rows = (module[list] ?? []).map(({ kind, name, what }) => `| \`${kind ?? name}\` | ${what} |\n`);
    if (rows.length === 0) throw new Error(`docs/chaos.md: deploy/src/chaos/${path} has no list ${list}`);
    tables.set(place, `| name | what |\n| --- | --- |\n${rows.join('')}`);
  }
  return page.replace(FAULT_TABLES, (_, place: string) => `${place}${tables.get(place) ?? ''}`);
}

/** The page with a row for each invariant of the chaos checker: the comment before it, `I1 (source). Text.` */
export function withInvariants(page: string, root: string): string {
  const comments = globSync('packages/chaos-checker/src/invariants/*.ts', { cwd: root }).flatMap((path) =>
    [...readFileSync(join(root, path), 'utf8').matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\nexport const/g)].map(
      ([, text = '']) => text.replaceAll(/\s*\n \* ?|\s+/g, ' ').trim(),
    ),
  );
  const rows = comments.flatMap((text) => {
    const [, number, source, what] = /^I(\d+) \(([^)]*)\)\. (.*)$/.exec(text) ?? [];
    return number === undefined ? [] : [{ number: Number(number), row: `| I${number} | ${what} | ${source} |\n` }];
  });
  const sorted = rows.sort((one, other) => one.number - other.number).map(({ row }) => row);
  const head = '| invariant | what is checked | as in |\n| --- | --- | --- |\n';
  return page.replace(INVARIANTS, () => head + sorted.join(''));
}

/** Calls a function with metrics that report each created one. Its other parameters have every property. */
function call(create: Function, report: (row: string) => void): void {
  const anything: unknown = new Proxy(() => anything, { get: () => anything, apply: () => anything });
  const creator =
    (type: string) =>
    (name: string, what: string, labels: unknown = []) => {
      const shown = Array.isArray(labels) ? labels.map((label) => `\`${label}\``).join(', ') : '';
      report(`| \`${name}\` | ${type} | ${shown} | ${what} |\n`);
      return anything;
    };
  const [counter, gauge, histogram] = [creator('counter'), creator('gauge'), creator('histogram')];
  create({ counter, gauge, histogram, tallies: histogram }, anything, anything);
}
