import { META_FIELDS } from '../custom/json-schema.ts';
import { cloneJson, type Json, type JsonObject } from '../object.ts';
import type { ResourceDefinition } from '../resource.ts';
import { customSchemaName, fullSchemaName } from './schema-names.ts';
import { type Describe, schemaReference } from './schema-objects.ts';

/** The schemas of a custom resource and of its list, by full name; none for a built-in resource. */
export function customSchemas(
  definition: ResourceDefinition,
  describe: Describe,
): readonly (readonly [string, Json])[] {
  const { publishedSchema, group, version, kind, listKind = `${definition.kind}List` } = definition;
  if (publishedSchema === undefined) return [];
  const short = customSchemaName(definition);
  const said = (field: string, schema = 'core.v1.ConfigMap'): JsonObject => {
    const sentence = describe(schema, field);
    return sentence === undefined ? {} : { description: sentence };
  };
  const typeMeta = { apiVersion: { type: 'string', ...said('apiVersion') }, kind: { type: 'string', ...said('kind') } };
  const schema = cloneJson(publishedSchema) as unknown as JsonObject;
  const properties = (schema.properties ?? {}) as JsonObject;
  const preserves = schema['x-kubernetes-preserve-unknown-fields'] === true && Object.keys(properties).length === 0;
  const metadata = { allOf: [schemaReference('meta.v1.ObjectMeta')], ...said('metadata') };
  const own = Object.fromEntries(Object.entries(properties).filter(([name]) => !META_FIELDS.has(name)));
  const named = (name: string): Json => [{ group, version, kind: name }];
  const item: JsonObject = {
    ...schema,
    ...(preserves ? {} : { properties: { ...typeMeta, metadata, ...own } }),
    'x-kubernetes-group-version-kind': named(kind),
  };
  const list: JsonObject = {
    description: `${listKind} is a list of ${kind}`,
    type: 'object',
    required: ['items'],
    properties: {
      ...typeMeta,
      items: {
        description: `List of ${definition.resource}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md`,
        type: 'array',
        items: schemaReference(short),
      },
      metadata: { allOf: [schemaReference('meta.v1.ListMeta')], ...said('metadata', 'core.v1.ConfigMapList') },
    },
    'x-kubernetes-group-version-kind': named(listKind),
  };
  return [
    [fullSchemaName(short), item],
    [fullSchemaName(`${short}List`), list],
  ];
}
