import type { CustomResourceDefinition } from '@gantry/objects';
import { KindError } from './structural-schema.ts';

/** The keywords of a structural schema that say something about the type. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly nullable?: boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
}

type Version = CustomResourceDefinition['spec']['versions'][number];

/** Fields of an object that `KubeObject` has. */
const OF_EVERY_OBJECT: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/**
 * TypeScript for kinds of others: the type and the resource of each definition, in its version that is stored. Throws KindError, which names the
 * definition.
 */
export function typesOf(definitions: readonly CustomResourceDefinition[]): string {
  const imports = "import type { KubeObject, Resource } from '@gantry/operator';\n";
  return [imports, ...definitions.map(typeOf)].join('\n');
}

function typeOf({ metadata, spec }: CustomResourceDefinition): string {
  const { group, names, scope, versions } = spec;
  const version = versions.find(({ storage, served }) => storage && served) ?? versions.find(({ served }) => served);
  if (version === undefined) throw new KindError(`${metadata.name}: no version is served`);
  const schema = schemaOf(version);
  const required = new Set(schema?.required ?? []);
  const own = Object.entries(schema?.properties ?? {}).filter(([name]) => !OF_EVERY_OBJECT.has(name));
  const resource = [
    `  group: ${JSON.stringify(group)},`,
    `  version: ${JSON.stringify(version.name)},`,
    `  resource: ${JSON.stringify(names.plural)},`,
    `  kind: ${JSON.stringify(names.kind)},`,
    `  namespaced: ${scope === 'Namespaced'},`,
  ];
  return [
    ...comment(schema?.description, ''),
    `export type ${names.kind} = KubeObject & ${fields(own, required, '')};`,
    `export const ${constantOf(names.kind)}: Resource<${names.kind}> = {`,
    ...resource,
    '};',
    '',
  ].join('\n');
}

function schemaOf({ schema }: Version): Schema | undefined {
  return schema?.openAPIV3Schema as Schema | undefined;
}

function fields(all: readonly (readonly [string, Schema])[], required: ReadonlySet<string>, indent: string): string {
  if (all.length === 0) return 'Record<never, never>';
  const inner = `${indent}  `;
  const lines = all.flatMap(([name, schema]) => [
    ...comment(schema.description, inner),
    `${inner}${/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)}${required.has(name) ? '' : '?'}: ${value(schema, inner)};`,
  ]);
  return ['{', ...lines, `${indent}}`].join('\n');
}

function value(schema: Schema, indent: string): string {
  const type = valueWithoutNull(schema, indent);
  return schema.nullable === true ? `${type} | null` : type;
}

function valueWithoutNull(schema: Schema, indent: string): string {
  if (schema['x-kubernetes-int-or-string'] === true) return 'number | string';
  if (schema.enum !== undefined && schema.enum.length > 0)
    return schema.enum.map((one) => JSON.stringify(one)).join(' | ');
  switch (schema.type) {
    case 'string':
    case 'boolean':
      return schema.type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array': {
      const item = schema.items === undefined ? 'unknown' : value(schema.items, indent);
      return /^[\w.]+$/.test(item) ? `${item}[]` : `Array<${item}>`;
    }
    case 'object': {
      if (schema.properties !== undefined) {
        return fields(Object.entries(schema.properties), new Set(schema.required ?? []), indent);
      }
      const of = schema.additionalProperties;
      return `Record<string, ${typeof of === 'object' ? value(of, indent) : 'unknown'}>`;
    }
    case undefined:
    default:
      return 'unknown';
  }
}

function comment(text: string | undefined, indent: string): readonly string[] {
  if (text === undefined || text === '') return [];
  const lines = text.replaceAll('*/', '*\\/').trim().split('\n');
  const [only] = lines;
  if (lines.length === 1) return [`${indent}/** ${only} */`];
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`];
}

/** Such as `NETWORK_POLICIES` for `NetworkPolicy`. */
function constantOf(kind: string): string {
  const name = kind.replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, '_').toUpperCase();
  if (/[^AEIOU]Y$/.test(name)) return `${name.slice(0, -1)}IES`;
  return /(S|X|CH)$/.test(name) ? `${name}ES` : `${name}S`;
}
