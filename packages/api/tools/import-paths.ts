// Writes schemas/paths.json, which verbs every published resource answers to, from Kubernetes' published paths.
//   node packages/api/tools/import-paths.ts DIR      DIR holds paths.json
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

type Paths = Record<string, Record<string, { action: string | null; consumes: string[] }>>;

const VERBS: Record<string, string> = { post: 'create', put: 'update', watchlist: 'watch' };
const [, , from = '.'] = process.argv;
const published = JSON.parse(readFileSync(`${from}/paths.json`, 'utf8')) as Paths;
const verbs = new Map<string, Set<string>>();

for (const [path, methods] of Object.entries(published)) {
  const parts =
    /^\/apis?\/(?:([^/]+)\/)?(v[0-9]+)\/(?:watch\/)?(?:namespaces\/\{namespace\}\/)?([a-z]+)(?:\/\{name\}(?:\/([a-z]+))?)?(\/\{path\})?$/.exec(
      path,
    );
  const [, group = '', version = '', resource = '', subresource] = parts ?? [];
  if (resource === '') continue;
  const name = `${group === '' ? '' : `${group}/`}${version} ${resource}${subresource === undefined ? '' : `/${subresource}`}`;
  const known = verbs.get(name) ?? new Set<string>();
  verbs.set(name, known);
  for (const { action } of Object.values(methods)) if (action !== null) known.add(VERBS[action] ?? action);
}

const lines = [...verbs]
  .filter(([, known]) => known.size > 0)
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .map(([name, known]) => `${JSON.stringify(name)}:${JSON.stringify([...known].sort())}`);
writeFileSync(fileURLToPath(new URL('../schemas/paths.json', import.meta.url)), `{\n${lines.join(',\n')}\n}\n`);
