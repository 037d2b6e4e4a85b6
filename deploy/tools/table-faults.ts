/** Names that begin a row of a table: of metrics, or of labels of ours. */
const ROW = /^\| (`[a-z_]+`(?:, `[a-z_]+`)*|`(?:[a-z]+\.)?gantry\.[a-z./-]+`) \|/;

/** The first literal of a call that makes a metric, or of one to a local helper that puts a prefix before it. */
const METRIC = /\b(?:counter|gauge|histogram|tallies|each)\(\s*(?:name\(\s*)?['`]([^'`\n]+)['`]|'(gantry_[a-z_]+)'/g;
const USES_METRICS = /\bmetrics\.(?:counter|gauge|histogram|tallies)\(/;
/** A label or annotation of ours on an object of the API (`gantry.dev/name`), or a label on a container (`gantry.name`). */
const LABEL = /['`"]((?:[a-z]+\.)?gantry\.dev\/[a-z-]+|gantry\.(?!dev\b|db\b|key\b|svg\b)[a-z]+(?:[-.][a-z]+)*)['`"]/g;

/** Metrics that a file makes; of a name that the code puts together its literal end. */
export function metricsOf(code: string): readonly string[] {
  const found = USES_METRICS.test(code) ? [...code.matchAll(METRIC)].map(([, made, ours]) => made ?? ours ?? '') : [];
  // A constant before the rest of the name: `${PREFIX}_name`.
  return found.map((name) => name.replace(/^\$\{\w+\}_?/, '')).filter((name) => /^[a-z_]+$/.test(name));
}

/** Labels and annotations of ours in a file. */
export function labelsOf(code: string): readonly string[] {
  return [...code.matchAll(LABEL)].map(([, name = '']) => name);
}

/** How the tables of a page differ from the names that files have, by their paths. */
export function findTableFaults(page: string, files: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const used = new Map([...files].flatMap(([path, names]) => names.map((name) => [name, path] as const)));
  const rows = page.split('\n').flatMap((text) => [...(ROW.exec(text)?.[1] ?? '').matchAll(/[^`, ]+/g)].map(String));
  const isSame = (whole: string, end: string) => whole === end || whole.endsWith(`_${end}`);
  return [
    ...[...used]
      .filter(([end]) => !rows.some((whole) => isSame(whole, end)))
      .map(([name, path]) => `${name} of ${path} is in no table`),
    ...rows.filter((whole) => ![...used.keys()].some((end) => isSame(whole, end))).map((name) => `no code has ${name}`),
  ];
}
