import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { JsonObject } from '@gantry/objects';
import { mapValues, mergeOpenApiV2Parts, type OpenApiV2Part } from './openapi-v2-json.ts';

/**
 * The part of a document in OpenAPI v2 as `application/com.github.proto-openapi.spec.v2@v1.0+protobuf`. kubectl before 1.28 requests this
 * form to learn what can be validated and patched. Field numbers are those of gnostic's openapi.v2 messages. It contains only what such
 * clients read: definitions, and for each operation its kind and query parameters.
 */
export function encodeOpenApiV2Part({ paths, components }: JsonObject): OpenApiV2Part<Uint8Array> {
  const { schemas } = components as { schemas: JsonObject };
  return {
    paths: mapValues(paths as JsonObject, (item) => pathItem(item as JsonObject)),
    definitions: mapValues(schemas, (schema) => schemaMessage(schema as JsonObject)),
  };
}

/** The whole OpenAPI v2 document in protobuf. For duplicate paths or schemas, the first one counts. */
export function joinOpenApiV2(parts: readonly OpenApiV2Part<Uint8Array>[], version: string): Uint8Array {
  const { paths, definitions } = mergeOpenApiV2Parts(parts);
  const info = Buffer.concat([text(1, 'Kubernetes'), text(2, version)]);
  return Buffer.concat([
    text(1, '2.0'),
    message(2, info),
    message(8, Buffer.concat([...paths].sort(byName).map(([path, item]) => named(2, path, item)))),
    message(9, Buffer.concat([...definitions].sort(byName).map(([name, schema]) => named(1, name, schema)))),
  ]);
}

function byName(a: readonly [string, unknown], b: readonly [string, unknown]): number {
  return a[0] < b[0] ? -1 : 1;
}

const METHODS: readonly (readonly [string, number])[] = [
  ['get', 2],
  ['put', 3],
  ['post', 4],
  ['delete', 5],
  ['patch', 8],
];

function pathItem(item: JsonObject): Uint8Array {
  return Buffer.concat(
    METHODS.map(([method, field]) => {
      const operation = item[method];
      return operation === undefined ? NOTHING : message(field, operationMessage(operation as JsonObject));
    }),
  );
}

function operationMessage(operation: JsonObject): Uint8Array {
  const parameters = (operation.parameters ?? []) as JsonObject[];
  const response = message(1, Buffer.concat([text(1, '200'), message(2, message(1, text(1, 'OK')))]));
  return Buffer.concat([
    text(3, typeof operation.description === 'string' ? operation.description : ''),
    text(5, String(operation.operationId)),
    ...parameters.map((parameter) => message(8, message(1, message(2, message(3, queryParameter(parameter)))))),
    message(9, response),
    ...extensions(13, operation),
  ]);
}

function queryParameter(parameter: JsonObject): Uint8Array {
  const schema = parameter.schema as JsonObject;
  const description = typeof parameter.description === 'string' ? parameter.description : '';
  return Buffer.concat([
    text(2, 'query'),
    text(3, description),
    text(4, String(parameter.name)),
    text(6, String(schema.type)),
    flag(20),
  ]);
}

function schemaMessage(schema: JsonObject): Uint8Array {
  const all = schema.allOf as JsonObject[] | undefined;
  const reference = (schema.$ref ?? all?.[0]?.$ref) as string | undefined;
  const properties = Object.entries((schema.properties ?? {}) as JsonObject);
  const { items, additionalProperties } = schema;
  return Buffer.concat([
    reference === undefined ? NOTHING : text(1, reference.replace('#/components/schemas/', '#/definitions/')),
    text(2, typeof schema.format === 'string' ? schema.format : ''),
    text(4, typeof schema.description === 'string' ? schema.description : ''),
    ...((schema.required ?? []) as string[]).map((name) => text(19, name)),
    additionalProperties === undefined
      ? NOTHING
      : message(21, message(1, schemaMessage(additionalProperties as JsonObject))),
    typeof schema.type === 'string' ? message(22, text(1, schema.type)) : NOTHING,
    items === undefined ? NOTHING : message(23, message(1, schemaMessage(items as JsonObject))),
    properties.length === 0
      ? NOTHING
      : message(
          25,
          Buffer.concat(properties.map(([name, value]) => named(1, name, schemaMessage(value as JsonObject)))),
        ),
    ...extensions(31, schema),
  ]);
}

/** Vendor extensions. Their values are YAML; JSON is valid YAML. */
function extensions(field: number, value: JsonObject): readonly Uint8Array[] {
  return Object.entries(value)
    .filter(([name]) => name.startsWith('x-'))
    .map(([name, inner]) => named(field, name, text(2, `${JSON.stringify(inner)}\n`)));
}

function named(field: number, name: string, value: Uint8Array): Uint8Array {
  return message(field, Buffer.concat([text(1, name), message(2, value)]));
}

const NOTHING = new Uint8Array(0);

function text(field: number, value: string): Uint8Array {
  return value === '' ? NOTHING : message(field, Buffer.from(value));
}

function flag(field: number): Uint8Array {
  return new BinaryWriter().tag(field, WireType.Varint).bool(true).finish();
}

function message(field: number, content: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(content).finish();
}
