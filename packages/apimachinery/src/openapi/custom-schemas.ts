import { isJsonObject, itemsOf, type JsonSchema, META_FIELDS, valuesOf } from '../schema/json-schema.ts';
import { type Json, type JsonObject, cloneJson } from '@gantry/objects';
import type { ResourceDefinition } from '../resource-definition.ts';
import { customSchemaName, fullSchemaName } from './schema-names.ts';
import { type Describe, describeHeld, schemaReference } from './schema-objects.ts';

/** The form of the document. Version 2 can express less than version 3, and its readers reject everything that is not described. */
export type OpenApiForm = 'v2' | 'v3';

type Schema = { -readonly [Word in keyof JsonSchema]: JsonSchema[Word] };

const PRESERVES = 'x-kubernetes-preserve-unknown-fields';

/** The schemas of a custom resource and of its list, by full name; none for a built-in resource. */
export function customSchemas(
  definition: ResourceDefinition,
  describe: Describe,
  form: OpenApiForm,
): readonly (readonly [string, Json])[] {
  const { publishedSchema, group, version, kind, listKind = `${definition.kind}List` } = definition;
  if (publishedSchema === undefined) return [];
  const short = customSchemaName(definition);
  const meta = describeMeta(describe);
  const selectable = Object.keys(definition.selectableFields ?? {}).map((fieldPath) => ({ fieldPath }));
  const marks = (name: string): JsonObject => ({
    'x-kubernetes-group-version-kind': [{ group, version, kind: name }],
    ...(selectable.length === 0 ? {} : { 'x-kubernetes-selectable-fields': selectable }),
  });
  const list: JsonObject = {
    description: `${listKind} is a list of ${kind}`,
    type: 'object',
    required: ['items'],
    properties: {
      ...meta.type,
      items: {
        description: `List of ${definition.resource}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md`,
        type: 'array',
        items: schemaReference(short),
      },
      metadata: meta.list,
    },
    ...marks(listKind),
  };
  return [
    [fullSchemaName(short), { ...objectSchema(publishedSchema, meta, form), ...marks(kind) }],
    [fullSchemaName(`${short}List`), list],
  ];
}

interface MetaSchemas {
  readonly type: Readonly<Record<'apiVersion' | 'kind', JsonObject>>;
  readonly object: JsonObject;
  readonly list: JsonObject;
}

function describeMeta(describe: Describe): MetaSchemas {
  const sentenceOf = (sentence: string | undefined): JsonObject =>
    sentence === undefined ? {} : { description: sentence };
  const said = (field: string) => sentenceOf(describe('core.v1.ConfigMap', field));
  const held = (schema: string): JsonObject => ({
    allOf: [schemaReference(schema)],
    ...sentenceOf(describeHeld(describe, schema)),
  });
  return {
    type: { apiVersion: { type: 'string', ...said('apiVersion') }, kind: { type: 'string', ...said('kind') } },
    object: held('meta.v1.ObjectMeta'),
    list: held('meta.v1.ListMeta'),
  };
}

function objectSchema(published: JsonSchema, meta: MetaSchemas, form: OpenApiForm): JsonObject {
  // For a kind with arbitrary content even metadata is left out: readers would reject all other fields.
  if (form === 'v2' && published[PRESERVES] === true) return { type: 'object' };
  const schema: Schema = cloneJson(published);
  offerChoices(schema);
  if (form === 'v2') simplify(schema);
  const own = Object.entries(schema.properties ?? {}).filter(([name]) => !META_FIELDS.has(name));
  schema.properties = { ...meta.type, metadata: meta.object, ...Object.fromEntries(own) };
  completeEmbedded(schema, meta, form);
  return schema as JsonObject;
}

/** Visits a schema and all nested ones that describe values. Alternatives only restrict values and are skipped. */
function visit(schema: Schema, change: (schema: Schema) => void): void {
  change(schema);
  const items = itemsOf(schema);
  if (items !== undefined) visit(items, change);
  const values = valuesOf(schema);
  if (values !== undefined) visit(values, change);
  for (const property of Object.values(schema.properties ?? {})) visit(property, change);
}

const INT_OR_STRING: readonly JsonSchema[] = [{ type: 'integer' }, { type: 'string' }];

/** Expresses `x-kubernetes-int-or-string` in standard OpenAPI. */
function offerChoices(schema: Schema): void {
  visit(schema, (one) => {
    if (one['x-kubernetes-int-or-string'] !== true) return;
    const offers = (anyOf: readonly JsonSchema[] | undefined) =>
      JSON.stringify(anyOf) === JSON.stringify(INT_OR_STRING);
    if (offers(one.anyOf) || offers(one.allOf?.[0]?.anyOf)) return;
    if (one.anyOf === undefined) one.anyOf = INT_OR_STRING;
    else one.allOf = [{ anyOf: INT_OR_STRING }, ...(one.allOf ?? [])];
  });
}

/** Removes what version 2 cannot express and what its readers would misread. */
function simplify(schema: Schema): void {
  visit(schema, (one) => {
    delete one.allOf;
    delete one.oneOf;
    delete one.anyOf;
    delete one.not;
    delete one.default;
    if (one.nullable === true) {
      delete one.type;
      delete one.items;
      delete one.properties;
    }
    delete one.nullable;
    const isNullable = new Set(
      Object.entries(one.properties ?? {})
        .filter(([, { nullable }]) => nullable === true)
        .map(([name]) => name),
    );
    if (one[PRESERVES] === true) {
      delete one.items;
      delete one.properties;
      if (one.type === 'object') delete one.type;
    }
    if (one.type === 'array' && one.items === undefined) delete one.type;
    const required = (one.required ?? []).filter((name) => !isNullable.has(name));
    if (required.length === 0 || valuesOf(one)?.nullable === true) delete one.required;
    else one.required = required;
  });
}

/** Adds the common fields of resources to embedded resources. */
function completeEmbedded(schema: Schema, meta: MetaSchemas, form: OpenApiForm): void {
  for (const inner of [itemsOf(schema), valuesOf(schema), ...Object.values(schema.properties ?? {})]) {
    if (isJsonObject(inner)) completeEmbedded(inner, meta, form);
  }
  if (schema['x-kubernetes-embedded-resource'] !== true) return;
  if (form === 'v2' && schema[PRESERVES] === true) return;
  const described = {
    apiVersion: { type: 'string', description: EMBEDDED_API_VERSION },
    kind: { type: 'string', description: EMBEDDED_KIND },
    metadata: meta.object,
  };
  schema.properties = { ...schema.properties, ...described };
  schema.required = [...new Set([...(schema.required ?? []), 'kind', 'apiVersion'])];
}

const CONVENTIONS = 'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md';
const EMBEDDED_API_VERSION = `apiVersion defines the versioned schema of this representation of an object. More info: ${CONVENTIONS}#resources`;
const EMBEDDED_KIND = `kind is a string value representing the type of this object. In CamelCase. More info: ${CONVENTIONS}#types-kinds`;
