import type { Json, JsonObject } from '@gantry/objects';
import type { ResourceDefinition, SubresourceDefinition } from '../resource-definition.ts';
import { publishedSchemas } from '../schema/published-schema.ts';
import { schemaNameOf } from '../schema/type-schema.ts';
import { type Endpoint, pathItem, watchPathItem } from './operations.ts';
import { customSchemas, type OpenApiForm } from './custom-schemas.ts';
import { customSchemaName, fullSchemaName } from './schema-names.ts';
import { type Describe, reachableSchemas, schemaObject } from './schema-objects.ts';

/** Schemas that every document contains in addition to its kinds. */
const COMMON = [
  'meta.v1.Status',
  'meta.v1.DeleteOptions',
  'meta.v1.Patch',
  'meta.v1.WatchEvent',
  'meta.v1.APIResourceList',
];

/**
 * The OpenAPI v3 document of one group version, with all schemas that it references. With the form 'v2', custom resources are described
 * with the means of version 2.
 */
export function openApiDocument(
  definitions: readonly ResourceDefinition[],
  path: string,
  options: { readonly version: string; readonly describe: Describe; readonly form?: OpenApiForm },
): JsonObject {
  const own = definitions.filter((definition) => openApiPathOf(definition) === path);
  const endpoints = own.flatMap(endpointsOf);
  const roots = endpoints.flatMap(({ schema }) => [schema, `${schema}List`]);
  const custom = own.flatMap((definition) => customSchemas(definition, options.describe, options.form ?? 'v3'));
  const meta = custom.length === 0 ? [] : ['meta.v1.ObjectMeta', 'meta.v1.ListMeta'];
  const schemas = reachableSchemas([...roots, ...COMMON, ...meta]);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: options.version },
    paths: Object.fromEntries([
      ...endpoints.map((endpoint) => [endpoint.path, pathItem(endpoint)] as const),
      ...own.flatMap(watchPaths),
    ]),
    components: {
      schemas: Object.fromEntries([
        ...schemas.map((name): [string, Json] => [fullSchemaName(name), schemaObject(name, options.describe)]),
        ...custom,
      ]),
      securitySchemes: {
        BearerToken: {
          type: 'apiKey',
          description: 'Bearer Token authentication',
          name: 'authorization',
          in: 'header',
        },
      },
    },
  };
}

/** The path below `/openapi/v3` of the document that describes a resource. */
export function openApiPathOf({ group, version }: ResourceDefinition): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`;
}

function endpointsOf(definition: ResourceDefinition): readonly Endpoint[] {
  const root = `/${openApiPathOf(definition)}`;
  const scope = definition.namespaced ? '/namespaces/{namespace}' : '';
  const collection = `${root}${scope}/${definition.resource}`;
  const { verbs } = definition;
  const schema = schemaOfResource(definition);
  const of = (path: string, allowed: readonly string[]): Endpoint => ({
    definition,
    subresource: undefined,
    schema,
    path,
    verbs: verbs.filter((verb) => allowed.includes(verb)),
  });
  const endpoints = [
    of(collection, ['list', 'create', 'deletecollection']),
    of(`${collection}/{name}`, ['get', 'update', 'patch', 'delete']),
    ...(definition.namespaced ? [of(`${root}/${definition.resource}`, ['list'])] : []),
    ...definition.subresources.map((subresource) => subresourceEndpoint(definition, subresource, collection)),
  ];
  return endpoints.filter((endpoint) => endpoint.verbs.length > 0);
}

/** The deprecated watch paths of a built-in resource. Custom resources have none. */
function watchPaths(definition: ResourceDefinition): readonly (readonly [string, JsonObject])[] {
  const { namespaced, resource, verbs } = definition;
  if (!verbs.includes('watch') || definition.publishedSchema !== undefined) return [];
  const root = `/${openApiPathOf(definition)}/watch`;
  const collection = `${root}${namespaced ? '/namespaces/{namespace}' : ''}/${resource}`;
  const of = (path: string, what: 'collection' | 'object'): readonly [string, JsonObject] => {
    const schema = schemaOfResource(definition);
    return [path, watchPathItem({ definition, subresource: undefined, schema, verbs: ['watch'], path }, what)];
  };
  return [
    of(collection, 'collection'),
    of(`${collection}/{name}`, 'object'),
    ...(namespaced ? [of(`${root}/${resource}`, 'collection')] : []),
  ];
}

function subresourceEndpoint(
  definition: ResourceDefinition,
  subresource: SubresourceDefinition,
  collection: string,
): Endpoint {
  const path = `${collection}/{name}/${subresource.name}`;
  return {
    definition,
    subresource,
    path,
    verbs: subresource.verbs,
    schema: schemaOfSubresource(definition, subresource),
  };
}

function schemaOfSubresource(definition: ResourceDefinition, subresource: SubresourceDefinition): string {
  const { group = definition.group, version = definition.version, kind } = subresource;
  if (kind === undefined) return schemaOfResource(definition);
  const short = `${group === '' ? 'core' : (group.split('.')[0] ?? group)}.${version}.${kind}`;
  return short in publishedSchemas ? short : schemaOfResource(definition);
}

function schemaOfResource(definition: ResourceDefinition): string {
  return definition.publishedSchema === undefined ? schemaNameOf(definition.schema) : customSchemaName(definition);
}
