import type { Json, JsonObject } from '@gantry/objects';
import { type PublishedSchema, publishedSchemas } from '../schema/published-schema.ts';
import { fullSchemaName } from './schema-names.ts';

/** Returns the description of a schema or of one of its fields; undefined when there is none. */
export type Describe = (schema: string, field?: string) => string | undefined;

const REF = '#/components/schemas/';

const CONVENTIONS = 'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md';
const METADATA: Readonly<Record<string, string>> = {
  'meta.v1.ObjectMeta': `Standard object's metadata. More info: ${CONVENTIONS}#metadata`,
  'meta.v1.ListMeta': `Standard list metadata. More info: ${CONVENTIONS}#types-kinds`,
};

/** The description of a field that contains a schema and has no description itself. */
export function describeHeld(describe: Describe, held: string): string | undefined {
  return METADATA[held] ?? describe(held);
}

/** The short name of the schema that a field of a built-in schema contains; undefined for plain values and lists. */
export function heldSchema(schema: string, field: string): string | undefined {
  return publishedSchemas[schema]?.properties?.[field]?.ref;
}

/** Names of `roots` and of all schemas that they reference, in order. */
export function reachableSchemas(roots: Iterable<string>): readonly string[] {
  const found = new Set<string>();
  const visit = (name: string): void => {
    const schema = publishedSchemas[name];
    if (schema === undefined || found.has(name)) return;
    found.add(name);
    visitRefs(schema, visit);
  };
  for (const root of roots) visit(root);
  return [...found].sort();
}

function visitRefs(schema: PublishedSchema, visit: (name: string) => void): void {
  if (schema.ref !== undefined) visit(schema.ref);
  if (schema.items !== undefined) visitRefs(schema.items, visit);
  if (schema.additionalProperties !== undefined) visitRefs(schema.additionalProperties, visit);
  for (const property of Object.values(schema.properties ?? {})) visitRefs(property, visit);
}

/** A named schema in OpenAPI v3's form. A field without a description gets the description of the schema that it contains. */
export function schemaObject(name: string, describe: Describe): JsonObject {
  const published = publishedSchemas[name] ?? {};
  const out = expand(published);
  const description = describe(name);
  if (description !== undefined) out.description = description;
  const properties = out.properties as JsonObject | undefined;
  for (const [field, value] of Object.entries(properties ?? {})) {
    const held = published.properties?.[field]?.ref;
    const sentence = describe(name, field) ?? (held === undefined ? undefined : describeHeld(describe, held));
    if (sentence !== undefined) (value as JsonObject).description = sentence;
  }
  return out;
}

function expand(schema: PublishedSchema): JsonObject {
  const out: JsonObject = {};
  for (const [key, value] of Object.entries(schema) as [string, Json][]) {
    if (key === 'ref') continue;
    if (key === 'properties') {
      const fields = Object.entries(schema.properties ?? {});
      out.properties = Object.fromEntries(fields.map(([field, inner]) => [field, expand(inner)]));
    } else if (key === 'items' || key === 'additionalProperties') out[key] = expand(value as PublishedSchema);
    else out[key.replace(/^x-/, 'x-kubernetes-')] = value;
  }
  if (schema.ref === undefined) return out;
  // Siblings of a $ref are ignored, and a description may be added, so the $ref is wrapped in allOf.
  return { allOf: [{ $ref: `${REF}${fullSchemaName(schema.ref)}` }], ...out };
}

/** A reference to a named schema. */
export function schemaReference(name: string): JsonObject {
  return { $ref: `${REF}${fullSchemaName(name)}` };
}
