// Writes schemas/go-fields.json: how each JSON field is held by Kubernetes' own structs. The published schemas do not say
// which fields are optional by pointer (a zero is kept), which are dropped when empty, and which are always written.
//   node packages/api/tools/import-go-facts.ts VERSION        needs `go` and the module proxy; v0.36.2 for Kubernetes 1.36
// A field reads as its Go type, then `,omitempty` and `,omitzero` as its JSON tag has them: `*int32,omitempty`.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

type Fields = Record<string, string>;

/** Go's own command, on the PATH of whoever raises the level; nothing else here needs it. */
const GO = 'go';

const version = process.argv[2];
if (version === undefined) throw new Error('name the version of k8s.io/api, for example v0.36.2');
const outFile = fileURLToPath(new URL('../schemas/go-fields.json', import.meta.url));
const schemasFile = fileURLToPath(new URL('../schemas/kubernetes.json', import.meta.url));

function download(module: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'go-facts-'));
  try {
    writeFileSync(join(folder, 'go.mod'), 'module facts\ngo 1.24\n');
    const answer = execFileSync(GO, ['mod', 'download', '-json', `${module}@${version}`], { cwd: folder });
    return (JSON.parse(answer.toString()) as { Dir: string }).Dir;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Folders of Go packages by the prefix that their schemas have. */
function packages(): Map<string, string> {
  const out = new Map<string, string>();
  const api = download('k8s.io/api');
  for (const entry of readdirSync(api, { recursive: true, withFileTypes: true })) {
    if (!entry.isDirectory() || !/^v\d+$/.test(entry.name)) continue;
    out.set(`${basename(entry.parentPath)}.${entry.name}.`, join(entry.parentPath, entry.name));
  }
  const machinery = download('k8s.io/apimachinery');
  out.set('meta.v1.', join(machinery, 'pkg/apis/meta/v1'));
  out.set('version.', join(machinery, 'pkg/version'));
  out.set('apiextensions.v1.', join(download('k8s.io/apiextensions-apiserver'), 'pkg/apis/apiextensions/v1'));
  out.set('apiregistration.v1.', join(download('k8s.io/kube-aggregator'), 'pkg/apis/apiregistration/v1'));
  return out;
}

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
const byPrefix = [...packages()].map(([prefix, folder]) => ({ prefix, structs: structsOf(folder) }));
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
