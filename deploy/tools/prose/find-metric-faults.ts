import type { Fault } from './fault.ts';

/** The first literal of a call that makes a metric, or of one to a local helper that puts a prefix before it. */
const MADE = /\b(?:counter|gauge|histogram|tallies|each)\(\s*(?:name\(\s*)?['`]([^'`\n]+)['`]/g;
const OURS = /'(gantry_[a-z_]+)'/g;
const USES_METRICS = /\bmetrics\.(?:counter|gauge|histogram|tallies)\(/;
const ROW = /^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \|/;

/**
 * Where the tables of metrics and the code differ. `sources` are the texts of the code by their paths. A name that the code puts together
 * is compared by its literal end. Rows begin with the names that they describe.
 */
export function findMetricFaults(page: string, sources: ReadonlyMap<string, string>): readonly Fault[] {
  const made = new Map([...sources].flatMap(([path, text]) => namesIn(text).map((name) => [name, path] as const)));
  const described = new Map(
    page.split('\n').flatMap((text, index) => {
      const [, cell = ''] = ROW.exec(text) ?? [];
      return [...cell.matchAll(/[a-z_]+/g)].map(([name]) => [name, index + 1] as const);
    }),
  );
  const isSame = (whole: string, end: string) => whole === end || whole.endsWith(`_${end}`);
  const missing = [...made].filter(([end]) => ![...described.keys()].some((whole) => isSame(whole, end)));
  const unknown = [...described].filter(([whole]) => ![...made.keys()].some((end) => isSame(whole, end)));
  return [
    ...missing.map(([end, path]) => ({ line: 1, problem: `the metric ${end} of ${path} is in no table` })),
    ...unknown.map(([whole, line]) => ({ line, problem: `no code makes the metric ${whole}` })),
  ];
}

function namesIn(text: string): readonly string[] {
  if (!USES_METRICS.test(text)) return [];
  const found = [...text.matchAll(MADE), ...text.matchAll(OURS)].map(([, name = '']) => name);
  // A constant before the rest of the name: `${PREFIX}_name`.
  return found.map((name) => name.replace(/^\$\{\w+\}_?/, '')).filter((name) => /^[a-z_]+$/.test(name));
}
