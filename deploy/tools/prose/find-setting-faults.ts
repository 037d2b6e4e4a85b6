import type { Fault } from './fault.ts';

const ROW = /^\| `(GANTRY_[A-Z_]+)` \| ([^|]+) \| ((?:\\\||[^|])+) \|/;
/** A read of a variable whose default is a literal: a text, a number, or a list of one text. */
const DEFAULT =
  /(?<!ConfigError)\('(GANTRY_[A-Z_]+)', (?:(?:\{[^}]*\}|\[[^\]]*\]|[A-Z_]+), )?(?:'([^']*)'|([\d_]+)|\['([^']*)'\])\)/g;

interface Row {
  readonly line: number;
  readonly services: readonly string[];
  readonly defaultText: string;
}

/**
 * Where the table of variables and the services differ. `configs` are the texts of the services' `config.ts` by the services' names. A
 * row names the services that read a variable (`all`, `all but a, b`, or `a, b`), and each default that stands in them as a literal.
 */
export function findSettingFaults(page: string, configs: ReadonlyMap<string, string>): readonly Fault[] {
  const rows = rowsOf(page, [...configs.keys()]);
  const faults: Fault[] = [];
  for (const [service, config] of configs) {
    const read = new Set([...config.matchAll(/'(GANTRY_[A-Z_]+)'/g)].map(([, variable = '']) => variable));
    for (const variable of read) {
      const row = rows.get(variable);
      if (row === undefined) faults.push({ line: 1, problem: `${variable} of ${service} is not in the table` });
      else if (!row.services.includes(service)) {
        faults.push({ line: row.line, problem: `${variable} is read by ${service}, too` });
      }
    }
    for (const [variable, row] of rows) {
      if (row.services.includes(service) && !read.has(variable)) {
        faults.push({ line: row.line, problem: `${variable} is not read by ${service}` });
      }
    }
    for (const [, variable = '', text, number, listed] of config.matchAll(DEFAULT)) {
      const value = text ?? listed ?? String(Number(number?.replaceAll('_', '')));
      const row = rows.get(variable);
      if (row !== undefined && !row.defaultText.includes(value)) {
        faults.push({ line: row.line, problem: `${service}'s default of ${variable} is ${value}` });
      }
    }
  }
  return faults;
}

function rowsOf(page: string, all: readonly string[]): ReadonlyMap<string, Row> {
  const rows = new Map<string, Row>();
  for (const [index, text] of page.split('\n').entries()) {
    const [, variable, named = '', cell = ''] = ROW.exec(text) ?? [];
    if (variable === undefined) continue;
    rows.set(variable, { line: index + 1, services: servicesOf(named, all), defaultText: cell.replaceAll('\\|', '|') });
  }
  return rows;
}

function servicesOf(named: string, all: readonly string[]): readonly string[] {
  if (named === 'all') return all;
  const prefix = 'all but ';
  const names = named.replace(prefix, '').split(', ');
  return named.startsWith(prefix) ? all.filter((name) => !names.includes(name)) : names;
}
