// Writes schemas/kubernetes.json, and the types and resources of packages/objects/src/generated, from Kubernetes' published structure.
//   node packages/apimachinery/tools/import-schemas.ts DIR      DIR holds schemas.json, protobuf.json and paths.json
//   node packages/apimachinery/tools/import-schemas.ts          only the types, from the committed data
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

interface Schema {
  type?: string;
  format?: string;
  default?: unknown;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema;
  items?: Schema;
  required?: string[];
  allOf?: Schema[];
  oneOf?: Schema[];
  $ref?: string;
  ref?: string;
  [extension: string]: unknown;
}

const schemasFile = fileURLToPath(new URL('../schemas/kubernetes.json', import.meta.url));
const protobufFile = fileURLToPath(new URL('../schemas/protobuf.json', import.meta.url));
const typesFile = fileURLToPath(new URL('../../objects/src/generated/types.ts', import.meta.url));

const PREFIXES: [RegExp, string][] = [
  [/^io\.k8s\.apimachinery\.pkg\.apis\.meta\.v1\./, 'meta.v1.'],
  [/^io\.k8s\.apimachinery\.pkg\.api\.resource\./, 'resource.'],
  [/^io\.k8s\.apimachinery\.pkg\.(util\.intstr|runtime|version)\./, '$1.'],
  [/^io\.k8s\.apiextensions-apiserver\.pkg\.apis\.apiextensions\./, 'apiextensions.'],
  [/^io\.k8s\.kube-aggregator\.pkg\.apis\.apiregistration\./, 'apiregistration.'],
  [/^io\.k8s\.api\./, ''],
];

function shortName(full: string): string {
  for (const [pattern, replacement] of PREFIXES) {
    if (pattern.test(full)) return full.replace(pattern, replacement).replace(/^util\./, '');
  }
  return full;
}

/** The same schema with references by short name, and without `allOf` wrappers of a single element. */
function compact(schema: Schema): Schema {
  const out: Schema = {};
  const inner = schema.allOf?.length === 1 ? { ...schema.allOf[0], ...schema } : schema;
  for (const [key, value] of Object.entries(inner)) {
    if (key === 'allOf') continue;
    if (key === '$ref') out.ref = shortName(String(value).replace('#/components/schemas/', ''));
    else if (key === 'properties')
      out.properties = Object.fromEntries(
        Object.entries(value as Record<string, Schema>).map(([k, v]) => [k, compact(v)]),
      );
    else if (key === 'items' || key === 'additionalProperties') out[key] = compact(value as Schema);
    else out[key.replace(/^x-kubernetes-/, 'x-')] = value;
  }
  return out;
}

const from = process.argv[2];
if (from !== undefined) {
  const published = JSON.parse(readFileSync(`${from}/schemas.json`, 'utf8')) as Record<string, Schema>;
  const schemas = Object.fromEntries(
    Object.entries(published).map(([name, schema]) => [shortName(name), compact(schema)]),
  );
  writeFileSync(
    schemasFile,
    `{\n${Object.entries(schemas)
      .map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`)
      .join(',\n')}\n}\n`,
  );
  const messages = JSON.parse(readFileSync(`${from}/protobuf.json`, 'utf8')) as Record<string, unknown>;
  writeFileSync(
    protobufFile,
    `{\n${Object.entries(messages)
      .map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`)
      .join(',\n')}\n}\n`,
  );
}
if (!existsSync(schemasFile)) throw new Error('no schemas: name the folder that holds schemas.json');

const schemas = JSON.parse(readFileSync(schemasFile, 'utf8')) as Record<string, Schema>;
const SCALARS: ReadonlySet<string> = new Set(['resource.Quantity', 'intstr.IntOrString', 'runtime.RawExtension']);
/** Schemas that fields hold as plain strings or open objects. */
const META_SCALARS: ReadonlySet<string> = new Set([
  'meta.v1.Time',
  'meta.v1.MicroTime',
  'meta.v1.FieldsV1',
  'meta.v1.Patch',
]);
/** Groups whose types keep their plain names if another group has a type of the same name. */
const NAMED_FIRST = [
  'core.v1.',
  'meta.v1.',
  'autoscaling.v2.',
  'authentication.v1.',
  'rbac.v1.',
  'admissionregistration.v1.',
];
const typeNames = nameTypes(Object.keys(schemas));

/** Type names by schema name: the last part, prefixed with the group's name if that part is taken (`EventsEvent`). */
function nameTypes(names: readonly string[]): ReadonlyMap<string, string> {
  const rank = (name: string) => (NAMED_FIRST.findIndex((prefix) => name.startsWith(prefix)) + 100) % 100;
  const byName = new Map<string, string>();
  for (const name of [...names].sort((a, b) => rank(a) - rank(b))) {
    const [group = '', ...rest] = name.split('.');
    const plain = rest.at(-1) ?? group;
    const taken = [...byName.values()].includes(plain);
    byName.set(name, taken ? `${group.charAt(0).toUpperCase()}${group.slice(1)}${plain}` : plain);
  }
  return byName;
}

function typeName(name: string): string {
  return typeNames.get(name) ?? name;
}

function typeOf(schema: Schema, queue: Set<string>): string {
  if (schema.ref !== undefined) {
    if (['meta.v1.Time', 'meta.v1.MicroTime', 'resource.Quantity'].includes(schema.ref)) return 'string';
    if (schema.ref === 'intstr.IntOrString') return 'number | string';
    if (schema.ref === 'meta.v1.FieldsV1' || schema.ref === 'runtime.RawExtension') return 'Record<string, unknown>';
    queue.add(schema.ref);
    return typeName(schema.ref);
  }
  if (schema.type === 'array') {
    const item = typeOf(schema.items ?? {}, queue);
    return item.includes('|') ? `(${item})[]` : `${item}[]`;
  }
  if (schema.type === 'object')
    return schema.additionalProperties
      ? `Record<string, ${typeOf(schema.additionalProperties, queue)}>`
      : 'Record<string, unknown>';
  if (schema.type === 'integer' || schema.type === 'number') return 'number';
  if (schema.type === 'boolean') return 'boolean';
  if (schema.type === 'string') return 'string';
  return 'unknown';
}

const queue = new Set(Object.keys(schemas).filter((name) => !SCALARS.has(name)));
const lines = [
  '// Written by packages/apimachinery/tools/import-schemas.ts from its schemas/kubernetes.json. Do not edit.',
  '',
];
for (const name of queue) {
  const schema = schemas[name];
  if (schema === undefined || META_SCALARS.has(name)) continue;
  if (schema.properties === undefined) {
    lines.push(`export type ${typeName(name)} = ${typeOf(schema, queue)};`, '');
    continue;
  }
  const isKind = schema['x-group-version-kind'] !== undefined && 'metadata' in schema.properties;
  // A type, not an interface: TypeScript gives interfaces no index signature, and objects are read as JSON in many places.
  lines.push(`export type ${typeName(name)} = {`);
  for (const [property, value] of Object.entries(schema.properties)) {
    const required =
      (schema.required ?? []).includes(property) || (isKind && ['apiVersion', 'kind', 'metadata'].includes(property));
    lines.push(
      `  ${/^\w+$/.test(property) ? property : JSON.stringify(property)}${required ? '' : '?'}: ${typeOf(value, queue)};`,
    );
  }
  lines.push('};', '');
}
writeFileSync(typesFile, lines.join('\n'));

interface ResourceFacts {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

const resourcesFile = fileURLToPath(new URL('../schemas/resources.json', import.meta.url));
const resourceNamesFile = fileURLToPath(new URL('../../objects/src/generated/constants/resources.ts', import.meta.url));

/** The schema of a resource's objects; undefined if none is published (resources that are only subresources). */
function schemaOfResource({ group, version, kind }: ResourceFacts): string | undefined {
  return Object.keys(schemas).find((name) =>
    ((schemas[name]?.['x-group-version-kind'] ?? []) as ResourceFacts[]).some(
      (of) => of.group === group && of.version === version && of.kind === kind,
    ),
  );
}

/** The constant's name, such as `REPLICA_SETS` for ReplicaSet and replicasets: the words of the kind with the plural ending. */
function constantName({ kind, resource }: ResourceFacts, name: string): string {
  const words = name.match(/[A-Z]+(?=[A-Z][a-z])|[A-Z][a-z0-9]+|[A-Z]+/g) ?? [];
  const singular = kind.toLowerCase();
  let same = 0;
  while (same < singular.length && singular[same] === resource[same]) same++;
  const text = words.join('_').toUpperCase();
  return `${text.slice(0, text.length - (singular.length - same))}${resource.slice(same).toUpperCase()}`;
}

const resourceFacts = Object.entries(
  JSON.parse(readFileSync(resourcesFile, 'utf8')) as Record<string, { kind: string; namespaced: boolean }>,
).map(([name, { kind, namespaced }]): ResourceFacts => {
  const [groupVersion = '', resource = ''] = name.split(' ');
  const [version = '', group = ''] = groupVersion.split('/').reverse();
  return { group, version, resource, kind, namespaced };
});
const typed = resourceFacts.flatMap((facts) => {
  const schema = schemaOfResource(facts);
  return schema === undefined ? [] : [{ facts, type: typeName(schema) }];
});
/** If two resources have the same kind, the one whose type has the kind's name is named after the kind, the other after its type. */
const constants = typed.map(({ facts, type }) => {
  const isShared = typed.some((other) => other.facts.kind === facts.kind && other.type !== type);
  return { facts, type, constant: constantName(facts, isShared ? type : facts.kind) };
});
writeFileSync(
  resourceNamesFile,
  [
    '// Written by packages/apimachinery/tools/import-schemas.ts from its schemas/resources.json. Do not edit.',
    "import type { Resource } from '../../resource-ref.ts';",
    'import type {',
    ...[...new Set(constants.map(({ type }) => type))].sort().map((type) => `  ${type},`),
    "} from '../types.ts';",
    '',
    ...constants
      .sort((a, b) => (a.constant < b.constant ? -1 : 1))
      .flatMap(({ facts, type, constant }) => [
        `export const ${constant}: Resource<${type}> = {`,
        ...Object.entries(facts).map(
          ([key, value]) => `  ${key}: ${typeof value === 'string' ? `'${value}'` : value},`,
        ),
        '};',
      ]),
    '',
  ].join('\n'),
);
