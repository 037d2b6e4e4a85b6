import { encodeOpenApiV2Part, openApiV2JsonPart } from '@gantry/apimachinery';
import type { JsonObject } from '@gantry/objects';

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'options', 'head'];

/**
 * The part of an extension server's OpenAPI document (version 3 or 2) for its group version, as version 3. Undefined when the document
 * is invalid or cannot be merged with others. The resources then have no published schema.
 */
export function remoteOpenApi(document: object, group: string, version: string): JsonObject | undefined {
  const { swagger, info, paths, components, definitions } = document as JsonObject;
  const isTwo = swagger !== undefined;
  const schemas = isTwo ? definitions : isObject(components) ? components.schemas : undefined;
  if (!isObject(paths) || !isObject(schemas ?? {})) return undefined;
  const root = `/apis/${group}/${version}/`;
  const own = Object.entries(paths).filter(([path, item]) => `${path}/`.startsWith(root) && isObject(item));
  const about = {
    openapi: '3.0.0',
    info: isObject(info) ? info : { title: group, version },
    paths: Object.fromEntries(own),
    components: { schemas: schemas ?? {} },
  } as JsonObject;
  try {
    const made = isTwo ? fromTwo(about) : about;
    openApiV2JsonPart(made);
    encodeOpenApiV2Part(made);
    return made;
  } catch {
    // The document does not have the structure of OpenAPI.
    return undefined;
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Converts OpenAPI version 2 to version 3. */
function fromTwo(document: JsonObject): JsonObject {
  const moved = JSON.parse(
    JSON.stringify(document).replaceAll('"#/definitions/', '"#/components/schemas/'),
  ) as JsonObject;
  const paths = Object.entries(moved.paths as JsonObject).map(([path, item]) => [path, pathItem(item as JsonObject)]);
  return { ...moved, paths: Object.fromEntries(paths) as JsonObject };
}

function pathItem(item: JsonObject): JsonObject {
  const shared = ((item.parameters ?? []) as JsonObject[]).map(parameter);
  const operations = METHODS.flatMap((method) => {
    const found = item[method];
    return isObject(found) ? [[method, operation(found)] as const] : [];
  });
  return { ...(shared.length === 0 ? {} : { parameters: shared }), ...Object.fromEntries(operations) };
}

function operation({
  parameters = [],
  responses = {},
  consumes,
  produces,
  schemes: _,
  ...rest
}: JsonObject): JsonObject {
  const all = parameters as JsonObject[];
  const body = all.find((one) => one.in === 'body');
  const others = all.filter((one) => one.in !== 'body').map(parameter);
  const sent = typesOf(consumes);
  const told = typesOf(produces);
  const answers = Object.entries(responses as JsonObject).map(([code, response]) => {
    const { schema, description = '' } = response as JsonObject;
    return [code, { description, ...(schema === undefined ? {} : { content: contentOf(told, schema as JsonObject) }) }];
  });
  return {
    ...rest,
    ...(others.length === 0 ? {} : { parameters: others }),
    ...(body === undefined ? {} : { requestBody: { content: contentOf(sent, (body.schema ?? {}) as JsonObject) } }),
    responses: Object.fromEntries(answers) as JsonObject,
  };
}

function typesOf(types: unknown): readonly string[] {
  return Array.isArray(types) && types.length > 0 ? types.map(String) : ['application/json'];
}

function contentOf(types: readonly string[], schema: JsonObject): JsonObject {
  return Object.fromEntries(types.map((type) => [type, { schema }]));
}

/** Converts a parameter. In version 2 the fields of the schema are in the parameter itself. */
function parameter({ name, in: where, description, required, ...schema }: JsonObject): JsonObject {
  return {
    name: name ?? '',
    in: where ?? 'query',
    ...(description === undefined ? {} : { description }),
    ...(required === undefined ? {} : { required }),
    schema,
  };
}
