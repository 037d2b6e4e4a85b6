import type { Json, JsonObject } from '@gantry/objects';

const METHODS = ['get', 'put', 'post', 'delete', 'patch'];

/** Words that version 2 does not have. */
const UNSPOKEN: ReadonlySet<string> = new Set(['allOf', 'oneOf', 'default']);

/** The part of one group version in a server's OpenAPI v2 document: encoded, by path and by schema name. */
export interface OpenApiV2Part<Encoded> {
  readonly paths: ReadonlyMap<string, Encoded>;
  readonly definitions: ReadonlyMap<string, Encoded>;
}

/** The part of a document of the form 'v2', as JSON texts. */
export function openApiV2JsonPart({ paths, components }: JsonObject): OpenApiV2Part<string> {
  const { schemas } = components as { schemas: JsonObject };
  return {
    paths: mapValues(paths as JsonObject, (item) => JSON.stringify(pathItem(item as JsonObject))),
    definitions: mapValues(schemas, (schema) => JSON.stringify(schemaV2(schema))),
  };
}

/** The whole OpenAPI v2 document as JSON text. For duplicate paths or schemas, the first one counts. */
export function joinOpenApiV2Json(parts: readonly OpenApiV2Part<string>[], version: string): string {
  const info = JSON.stringify({ title: 'Kubernetes', version });
  const { paths, definitions } = mergeOpenApiV2Parts(parts);
  return `{"swagger":"2.0","info":${info},"paths":${objectText(paths)},"definitions":${objectText(definitions)}}`;
}

/** All parts merged. For duplicate paths or schemas, the first one counts. */
export function mergeOpenApiV2Parts<Encoded>(parts: readonly OpenApiV2Part<Encoded>[]): OpenApiV2Part<Encoded> {
  const paths = new Map<string, Encoded>();
  const definitions = new Map<string, Encoded>();
  for (const part of parts) {
    for (const [path, item] of part.paths) if (!paths.has(path)) paths.set(path, item);
    for (const [name, schema] of part.definitions) if (!definitions.has(name)) definitions.set(name, schema);
  }
  return { paths, definitions };
}

export function mapValues<T>(object: JsonObject, encode: (value: Json) => T): ReadonlyMap<string, T> {
  return new Map(Object.entries(object).map(([name, value]) => [name, encode(value ?? null)]));
}

function objectText(members: ReadonlyMap<string, string>): string {
  return `{${Array.from(members, ([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

function schemaV2(schema: Json | undefined): Json {
  if (schema === null || schema === undefined || typeof schema !== 'object' || Array.isArray(schema))
    return schema ?? {};
  const out: JsonObject = {};
  const [only] = (schema.allOf ?? []) as JsonObject[];
  if (only?.$ref !== undefined) out.$ref = reference(only.$ref);
  // Version 2 describes int-or-string as a string.
  if (schema.oneOf !== undefined && schema.type === undefined) out.type = 'string';
  for (const [word, value] of Object.entries(schema)) {
    if (UNSPOKEN.has(word)) continue;
    if (word === '$ref') out.$ref = reference(value);
    else if (word === 'properties') {
      const fields = Object.entries(value as JsonObject).map(([name, inner]): [string, Json] => [
        name,
        schemaV2(inner),
      ]);
      out.properties = Object.fromEntries(fields);
    } else if (word === 'items' || word === 'additionalProperties') out[word] = schemaV2(value);
    else out[word] = value;
  }
  return out;
}

function reference(value: Json): string {
  return String(value).replace('#/components/schemas/', '#/definitions/');
}

function pathItem(item: JsonObject): JsonObject {
  const out: JsonObject = { parameters: ((item.parameters ?? []) as JsonObject[]).map(parameter) };
  for (const method of METHODS) {
    const operation = item[method];
    if (operation !== undefined) out[method] = operationV2(operation as JsonObject);
  }
  return out;
}

function parameter({ schema, ...rest }: JsonObject): JsonObject {
  return { ...rest, ...(schema as JsonObject) };
}

function operationV2({ requestBody, responses, parameters, ...rest }: JsonObject): JsonObject {
  const body = requestBody as JsonObject | undefined;
  const content = (body?.content ?? {}) as JsonObject;
  const consumes = body === undefined ? ['*/*'] : Object.keys(content);
  const first = Object.values(content)[0] as JsonObject | undefined;
  const sent =
    body === undefined
      ? []
      : [
          {
            name: 'body',
            in: 'body',
            ...(body.required === true ? { required: true } : {}),
            schema: schemaV2(first?.schema),
          },
        ];
  const answers = Object.entries(responses as JsonObject).map(([code, response]): [string, Json] => {
    const { description = '', content: forms } = response as JsonObject;
    const form = Object.values((forms ?? {}) as JsonObject)[0] as JsonObject | undefined;
    return [code, { description, ...(form === undefined ? {} : { schema: schemaV2(form.schema) }) }];
  });
  const asked = [...sent, ...((parameters ?? []) as JsonObject[]).map(parameter)];
  const ok = (responses as JsonObject)['200'] as JsonObject | undefined;
  return {
    ...rest,
    consumes,
    produces: Object.keys((ok?.content ?? {}) as JsonObject),
    schemes: ['https'],
    ...(asked.length === 0 ? {} : { parameters: asked }),
    responses: Object.fromEntries(answers),
  };
}
