// Writes, from Kubernetes' published paths, schemas/paths.json (the verbs of every published resource and subresource) and
// schemas/resources.json (the kind and the scope of every resource).
//   node packages/apimachinery/tools/import-paths.ts DIR      DIR holds paths.json
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

interface Method {
  readonly action: string | null;
  readonly consumes: readonly string[];
  readonly gvk: { readonly group: string; readonly version: string; readonly kind: string } | null;
}
type Paths = Record<string, Record<string, Method>>;

const VERBS: Record<string, string> = { post: 'create', put: 'update', watchlist: 'watch' };
const [, , from = '.'] = process.argv;
const published = JSON.parse(readFileSync(`${from}/paths.json`, 'utf8')) as Paths;
const verbs = new Map<string, Set<string>>();
const kinds = new Map<string, { readonly kind: string; readonly namespaced: boolean }>();

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
  const kind = Object.values(methods).find(({ gvk }) => gvk !== null)?.gvk?.kind;
  if (subresource !== undefined || kind === undefined) continue;
  const namespaced = path.includes('/namespaces/{namespace}/') || (kinds.get(name)?.namespaced ?? false);
  kinds.set(name, { kind, namespaced });
}

write(
  'paths',
  [...verbs].filter(([, known]) => known.size > 0).map(([name, known]) => [name, [...known].sort()]),
);
write('resources', [...kinds]);

/** One line per entry, so that a diff of a release shows the changed entries. */
function write(file: string, entries: readonly (readonly [string, unknown])[]): void {
  const lines = [...entries]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const url = new URL(`../schemas/${file}.json`, import.meta.url);
  writeFileSync(fileURLToPath(url), `{\n${lines.join(',\n')}\n}\n`);
}
