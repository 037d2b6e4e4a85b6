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
    paths: mapValues(paths as JsonObject, (item) => encode((to) => pathItem(to, item as JsonObject))),
    definitions: mapValues(schemas, (schema) => encode((to) => schemaMessage(to, schema as JsonObject))),
  };
}

/** The whole OpenAPI v2 document in protobuf. For duplicate paths or schemas, the first one counts. */
export function joinOpenApiV2(parts: readonly OpenApiV2Part<Uint8Array>[], version: string): Uint8Array {
  const { paths, definitions } = mergeOpenApiV2Parts(parts);
  return encode((to) => {
    text(to, 1, '2.0');
    open(to, 2);
    text(to, 1, 'Kubernetes');
    text(to, 2, version);
    close(to, 1);
    open(to, 8);
    encoded(to, 2, paths);
    close(to, 1);
    open(to, 9);
    encoded(to, 1, definitions);
    close(to, 1);
  });
}

/** Entries of a map whose values are encoded already, by name. */
function encoded(to: BinaryWriter, field: number, entries: Iterable<readonly [string, Uint8Array]>): void {
  for (const [name, value] of [...entries].sort(([a], [b]) => (a < b ? -1 : 1))) {
    openNamed(to, field, name);
    to.raw(value);
    close(to, 2);
  }
}

function encode(write: (to: BinaryWriter) => void): Uint8Array {
  const writer = new BinaryWriter();
  write(writer);
  return writer.finish();
}

const METHODS: readonly (readonly [string, number])[] = [
  ['get', 2],
  ['put', 3],
  ['post', 4],
  ['delete', 5],
  ['patch', 8],
];

function pathItem(to: BinaryWriter, item: JsonObject): void {
  for (const [method, field] of METHODS) {
    const operation = item[method];
    if (operation === undefined) continue;
    open(to, field);
    operationMessage(to, operation as JsonObject);
    close(to, 1);
  }
}

function operationMessage(to: BinaryWriter, operation: JsonObject): void {
  text(to, 3, typeof operation.description === 'string' ? operation.description : '');
  text(to, 5, String(operation.operationId));
  for (const parameter of (operation.parameters ?? []) as JsonObject[]) {
    open(to, 8, 1, 2, 3);
    queryParameter(to, parameter);
    close(to, 4);
  }
  open(to, 9, 1);
  text(to, 1, '200');
  open(to, 2, 1);
  text(to, 1, 'OK');
  close(to, 4);
  extensions(to, 13, operation);
}

function queryParameter(to: BinaryWriter, parameter: JsonObject): void {
  const schema = parameter.schema as JsonObject;
  text(to, 2, 'query');
  text(to, 3, typeof parameter.description === 'string' ? parameter.description : '');
  text(to, 4, String(parameter.name));
  text(to, 6, String(schema.type));
  to.tag(20, WireType.Varint).bool(true);
}

function schemaMessage(to: BinaryWriter, schema: JsonObject): void {
  const all = schema.allOf as JsonObject[] | undefined;
  const reference = (schema.$ref ?? all?.[0]?.$ref) as string | undefined;
  const properties = Object.entries((schema.properties ?? {}) as JsonObject);
  const { items, additionalProperties, type } = schema;
  text(to, 1, reference?.replace('#/components/schemas/', '#/definitions/') ?? '');
  text(to, 2, typeof schema.format === 'string' ? schema.format : '');
  text(to, 4, typeof schema.description === 'string' ? schema.description : '');
  for (const name of (schema.required ?? []) as string[]) text(to, 19, name);
  if (additionalProperties !== undefined) {
    open(to, 21, 1);
    schemaMessage(to, additionalProperties as JsonObject);
    close(to, 2);
  }
  if (typeof type === 'string') {
    open(to, 22);
    text(to, 1, type);
    close(to, 1);
  }
  if (items !== undefined) {
    open(to, 23, 1);
    schemaMessage(to, items as JsonObject);
    close(to, 2);
  }
  if (properties.length > 0) {
    open(to, 25);
    for (const [name, value] of properties) {
      openNamed(to, 1, name);
      schemaMessage(to, value as JsonObject);
      close(to, 2);
    }
    close(to, 1);
  }
  extensions(to, 31, schema);
}

/** Vendor extensions. Their values are YAML; JSON is valid YAML. */
function extensions(to: BinaryWriter, field: number, value: JsonObject): void {
  for (const [name, inner] of Object.entries(value)) {
    if (!name.startsWith('x-')) continue;
    openNamed(to, field, name);
    text(to, 2, `${JSON.stringify(inner)}\n`);
    close(to, 2);
  }
}

/** Begins a message in a message, for each of the fields. `close` ends as many. */
function open(to: BinaryWriter, ...fields: readonly number[]): void {
  for (const field of fields) to.tag(field, WireType.LengthDelimited).fork();
}

/** Begins an entry of a map, and its value. */
function openNamed(to: BinaryWriter, field: number, name: string): void {
  open(to, field);
  text(to, 1, name);
  open(to, 2);
}

function close(to: BinaryWriter, count: number): void {
  for (let closed = 0; closed < count; closed += 1) to.join();
}

function text(to: BinaryWriter, field: number, value: string): void {
  if (value !== '') to.tag(field, WireType.LengthDelimited).string(value);
}
