// Writes schemas/go-fields.json: how Kubernetes' Go structs hold each JSON field. The published schemas do not say which fields are
// optional by pointer (a zero is kept), which are dropped when empty, and which are always written.
//   node packages/apimachinery/tools/import-go-facts.ts VERSION        needs `go` and the module proxy; v0.36.2 for Kubernetes 1.36
// Each field is written as its Go type, then `,omitempty` and `,omitzero` as in its JSON tag: `*int32,omitempty`.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { goPackages } from './go-packages.ts';

type Fields = Record<string, string>;

const version = process.argv[2];
if (version === undefined) throw new Error('name the version of k8s.io/api, for example v0.36.2');
const outFile = fileURLToPath(new URL('../schemas/go-fields.json', import.meta.url));
const schemasFile = fileURLToPath(new URL('../schemas/kubernetes.json', import.meta.url));

/** The structs of a package's source, embedded ones still unresolved under the key `inline`. */
function structsOf(folder: string): Map<string, { fields: Fields; inline: string[] }> {
  const out = new Map<string, { fields: Fields; inline: string[] }>();
  for (const file of readdirSync(folder)) {
    if (!file.endsWith('.go') || file.endsWith('_test.go') || file.startsWith('zz_generated')) continue;
    let current: { fields: Fields; inline: string[] } | undefined;
    for (const line of readFileSync(join(folder, file), 'utf8').split('\n')) {
      const head = /^\s*(?:type )?(\w+) struct \{/.exec(line);
      if (head?.[1] !== undefined) {
        current = { fields: {}, inline: [] };
        out.set(head[1], current);
      } else if (/^\t?\}/.test(line)) current = undefined;
      const field = /^\s+(?:(\w+)\s+)?(\S+)\s+`[^`]*json:"([^"]*)"/.exec(line);
      if (current === undefined || field === null) continue;
      const [, , type = '', tag = ''] = field;
      const [name = '', ...options] = tag.split(',');
      if (name === '-') continue;
      if (name === '') current.inline.push(type.replace(/^.*\./, ''));
      else current.fields[name] = [type, ...options.filter((o) => o.startsWith('omit'))].join(',');
    }
  }
  return out;
}

const schemas = JSON.parse(readFileSync(schemasFile, 'utf8')) as Record<string, { properties?: object }>;
const byPrefix = [...goPackages(version)].map(([prefix, folder]) => ({ prefix, structs: structsOf(folder) }));
const out: Record<string, Fields> = {};
for (const [name, schema] of Object.entries(schemas)) {
  if (schema.properties === undefined) continue;
  const home = byPrefix.find((p) => name.startsWith(p.prefix));
  const struct = (type: string): Fields => {
    const found = home?.structs.get(type);
    if (found === undefined) return {};
    return Object.assign({}, ...found.inline.map(struct), found.fields) as Fields;
  };
  const fields = struct(name.slice(home?.prefix.length ?? 0));
  const known = Object.keys(schema.properties).filter((p) => p !== 'apiVersion' && p !== 'kind');
  const missing = known.filter((p) => fields[p] === undefined);
  if (missing.length > 0) process.stderr.write(`${name}: not found: ${missing.join(', ')}\n`);
  out[name] = Object.fromEntries(known.filter((p) => fields[p] !== undefined).map((p) => [p, fields[p] ?? '']));
}
writeFileSync(
  outFile,
  `{\n${Object.entries(out)
    .map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`)
    .join(',\n')}\n}\n`,
);
