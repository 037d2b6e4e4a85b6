import { globSync } from 'node:fs';
import { join } from 'node:path';
import { settingsOf } from '@gantry/service';

/** For variables without a default. */
const REQUIRED = {
  GANTRY_APISERVERS: 'apiserver:6444',
  GANTRY_CLUSTER_ID: 'gantry',
  GANTRY_CONTROL_CIDR: '10.128.240.0/24',
  GANTRY_ETCD: 'https://etcd-0:2379',
  GANTRY_POD_BRIDGE: 'pods',
  GANTRY_POD_CIDR: '10.128.0.0/20',
  GANTRY_POD_NETWORK: 'pods',
  GANTRY_PROXY_TLS_DIR: '/tls',
  GANTRY_SERVER: 'https://127.0.0.1:6443',
  GANTRY_SERVICE_CIDR: '10.96.0.0/16',
};
const ROW = /^\| `(GANTRY_[A-Z_]+)` \| .* \| ((?:\\\||[^|])+) \|$/gm;
const TABLE = /^\| variable \| service .*\n(?:\|.*\n)+/m;

/**
 * The page with its table of the services' variables as their `config.ts` read them. What a variable means is the page's own text, in the
 * last column.
 */
export async function withSettings(page: string, root: string): Promise<string> {
  const paths = globSync('services/*/src/config.ts', { cwd: root }).sort();
  const services = paths.map((path) => path.split('/')[1] ?? '');
  /** Of each variable, which services have which default. */
  const defaults = new Map<string, Map<string, string[]>>();
  Object.assign(process.env, REQUIRED);
  for (const [index, path] of paths.entries()) {
    const readers = Object.values((await import(join(root, path))) as Record<string, unknown>);
    for (const read of readers.filter((one) => typeof one === 'function')) {
      for (const [variable, fallback] of settingsOf(read(process.env) as object)) {
        const ofVariable = getOrAdd(defaults, variable, () => new Map<string, string[]>());
        const names = getOrAdd(ofVariable, shown(fallback), () => []);
        if (!names.includes(services[index] ?? '')) names.push(services[index] ?? '');
      }
    }
  }
  const meanings = new Map([...page.matchAll(ROW)].map(([, variable = '', meaning = '']) => [variable, meaning]));
  const rows = [...defaults]
    .filter(([variable]) => variable.startsWith('GANTRY_'))
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([variable, ofVariable]) => {
      const meaning = meanings.get(variable);
      if (meaning === undefined)
        throw new Error(
          `docs/conventions.md does not say what ${variable} means: add | \`${variable}\` | | | MEANING | to its table of settings`,
        );
      const readers = services.filter((name) => [...ofVariable.values()].some((names) => names.includes(name)));
      return `| \`${variable}\` | ${among(readers, services)} | ${inWords(ofVariable)} | ${meaning} |\n`;
    });
  return page.replace(
    TABLE,
    () => `| variable | service | default | meaning |\n| --- | --- | --- | --- |\n${rows.join('')}`,
  );
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}

function shown(fallback: unknown): string {
  if (fallback === undefined) return 'required';
  const text = String(fallback);
  if (text === '') return 'none';
  return typeof fallback === 'number' ? text : `\`${text.replaceAll('|', '\\|')}\``;
}

function among(names: readonly string[], all: readonly string[]): string {
  const others = all.filter((name) => !names.includes(name));
  if (others.length === 0) return 'all';
  return others.length <= 2 ? `all but ${others.join(', ')}` : names.join(', ');
}

function inWords(defaults: ReadonlyMap<string, readonly string[]>): string {
  if (defaults.size === 1) return [...defaults.keys()].join('');
  return [...defaults].map(([text, names]) => `${text} (${names.join(', ')})`).join('; ');
}
