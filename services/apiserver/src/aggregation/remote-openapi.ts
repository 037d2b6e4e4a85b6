import { encodeOpenApiV2Part, openApiV2JsonPart, type OpenApiV2Part, parsePlainBody } from '@gantry/apimachinery';
import { must, type Pieces } from '@gantry/base';
import type { Json, JsonObject } from '@gantry/objects';
import { ExcessError } from './fetch-remote.ts';
import { membersOf } from './json-members.ts';

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'options', 'head'];

/** Maximum size of one path or schema, which is decoded at once. */
const MAX_MEMBER_BYTES = 256 * 1024;

/**
 * Maximum number of media types of an operation in version 2. Version 3 repeats the schema for each of them. An operation of a Kubernetes
 * API server has up to 7.
 */
const MAX_MEDIA_TYPES = 16;
/** Maximum size of the JSON that is made of a document. */
const MAX_MADE_BYTES = 16 * 1024 * 1024;

/** The OpenAPI document of a group version of an extension server, encoded. */
export interface RemoteOpenApi {
  /** Version 3, as JSON. */
  readonly v3: Buffer;
  /** Version 2, as JSON. */
  readonly v2Json: OpenApiV2Part<string>;
  /** Version 2, as protobuf. */
  readonly v2: OpenApiV2Part<Uint8Array>;
}

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

/**
 * Encodes the part of an extension server's OpenAPI document (version 3 or 2) for its group version. Paths and schemas are decoded one by
 * one, so that no turn takes long. Returns undefined when the document is invalid or cannot be merged with others. The resources then have
 * no published schema. Throws ExcessError when a bound is exceeded.
 */
export function* remoteOpenApi(body: Buffer, groupVersion: GroupVersion): Pieces<RemoteOpenApi | undefined> {
  try {
    return yield* encoded(body, groupVersion);
  } catch (error) {
    if (error instanceof ExcessError) throw error;
    // The document does not have the structure of OpenAPI.
    return undefined;
  }
}

function* encoded(body: Buffer, { group, version }: GroupVersion): Pieces<RemoteOpenApi> {
  const top = yield* membersOf(body);
  const isTwo = top.has('swagger');
  const { paths, schemas } = yield* partsOf(top, isTwo);
  const v3 = { paths: new Map<string, string>(), schemas: new Map<string, string>() };
  const v2Json = { paths: new Map<string, string>(), definitions: new Map<string, string>() };
  const v2 = { paths: new Map<string, Uint8Array>(), definitions: new Map<string, Uint8Array>() };
  const root = `/apis/${group}/${version}/`;
  let made = 0;
  const jsonOf = (value: Json): string => {
    const json = JSON.stringify(value);
    made += Buffer.byteLength(json);
    if (made <= MAX_MADE_BYTES) return json;
    throw new ExcessError(`the OpenAPI document takes more than ${MAX_MADE_BYTES} bytes in version 3`);
  };
  for (const [path, text] of paths) {
    if (!`${path}/`.startsWith(root)) continue;
    const found = decode(path, text, isTwo);
    if (!isObject(found)) continue;
    const item = isTwo ? pathItem(found) : found;
    const document: JsonObject = { paths: { [path]: item }, components: { schemas: {} } };
    v3.paths.set(path, jsonOf(item));
    for (const [, json] of openApiV2JsonPart(document).paths) v2Json.paths.set(path, json);
    for (const [, bytes] of encodeOpenApiV2Part(document).paths) v2.paths.set(path, bytes);
    yield;
  }
  for (const [name, text] of schemas) {
    const schema = decode(name, text, isTwo);
    const document: JsonObject = { paths: {}, components: { schemas: { [name]: schema } } };
    v3.schemas.set(name, jsonOf(schema));
    for (const [, json] of openApiV2JsonPart(document).definitions) v2Json.definitions.set(name, json);
    for (const [, bytes] of encodeOpenApiV2Part(document).definitions) v2.definitions.set(name, bytes);
    yield;
  }
  const about = decode('info', top.get('info') ?? Buffer.from('null'), false);
  const info = JSON.stringify(isObject(about) ? about : { title: group, version });
  const components = `{"schemas":${objectText(v3.schemas)}}`;
  return {
    v3: Buffer.from(`{"openapi":"3.0.0","info":${info},"paths":${objectText(v3.paths)},"components":${components}}`),
    v2Json,
    v2,
  };
}

/** The texts of paths and schemas, by name. */
function* partsOf(
  top: ReadonlyMap<string, Buffer>,
  isTwo: boolean,
): Pieces<Record<'paths' | 'schemas', ReadonlyMap<string, Buffer>>> {
  const empty = Buffer.from('{}');
  const paths = yield* membersOf(must(top.get('paths'), 'paths'));
  const components = isTwo ? top : yield* membersOf(top.get('components') ?? empty);
  const schemas = yield* membersOf(components.get(isTwo ? 'definitions' : 'schemas') ?? empty);
  return { paths, schemas };
}

function decode(name: string, text: Buffer, isTwo: boolean): Json {
  if (text.length > MAX_MEMBER_BYTES) {
    throw new ExcessError(`the OpenAPI document has more than ${MAX_MEMBER_BYTES} bytes for ${JSON.stringify(name)}`);
  }
  const three = isTwo ? Buffer.from(text.toString().replaceAll('"#/definitions/', '"#/components/schemas/')) : text;
  return parsePlainBody(three, 'json') as Json;
}

function objectText(members: ReadonlyMap<string, string>): string {
  return `{${Array.from(members, ([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Converts a path of OpenAPI version 2 to version 3. */
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
  if (Array.isArray(types) && types.length > MAX_MEDIA_TYPES) {
    throw new ExcessError(`an operation of the OpenAPI document has more than ${MAX_MEDIA_TYPES} media types`);
  }
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
