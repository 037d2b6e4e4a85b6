import { apiVersionOf, type KubeObject, StatusError } from '@gantry/objects';
import { decodeProtobuf } from '../protobuf/envelope.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { publishedSchemas } from '../schema/published-schema.ts';
import { schemaNameOf, schemaOf, type SchemaRef } from '../schema/type-schema.ts';
import { DecodeError, decodeStruct } from '../values/decode-value.ts';
import {
  JsonSyntaxError,
  NumberLiteral,
  type Parsed,
  type ParsedObject,
  parseJsonText,
} from '../values/json-parser.ts';
import { jsonTypeOf } from '../values/scalars.ts';
import { normaliseShape } from '../values/normalise-shape.ts';
import { parseYamlText, YamlSyntaxError } from './yaml-parser.ts';

/** How to handle unknown and duplicate fields: reject, warn or ignore. They are dropped unless the request is rejected. */
export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

export interface DecodeInput {
  readonly bytes: Uint8Array;
  /** `application/json`, `application/yaml` or `application/vnd.kubernetes.protobuf`; parameters are ignored. */
  readonly mediaType: string;
  readonly definition: ResourceDefinition;
  readonly mode: FieldValidation;
  /** Short name of the schema, if the body has another kind than the resource (`autoscaling.v1.Scale`). */
  readonly subresourceSchema?: string;
}

export interface DecodedObject {
  readonly object: KubeObject;
  /** Texts for `Warning: 299` headers. */
  readonly warnings: string[];
}

interface ExpectedKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly schema: SchemaRef;
}

/**
 * Reads a request body as an object of the resource, as a Kubernetes API server does: in canonical form and normalised shape (see
 * `normaliseShape`). Missing apiVersion and kind are filled in, except for kinds with their own schema (custom resources), where they are
 * required. Throws StatusError BadRequest.
 */
export function decodeObject(input: DecodeInput): DecodedObject {
  return beginDecoding(input)();
}

/**
 * As `decodeObject`, in two steps. The first step runs at once. Decoding a large body takes long, so other work may run before the second.
 */
export function beginDecoding(input: DecodeInput): () => DecodedObject {
  const expected = expectedKind(input.definition, input.subresourceSchema);
  return beginBody(input.bytes, input.mediaType, expected, input.mode);
}

/** Reads a body whose kind belongs to no resource, by the name of its schema: `meta.v1.DeleteOptions`. */
export function decodeAs(
  schema: SchemaRef,
  bytes: Uint8Array,
  mediaType: string,
  mode: FieldValidation = 'Ignore',
): DecodedObject {
  return beginBody(bytes, mediaType, kindOfSchema(schema), mode)();
}

function expectedKind(definition: ResourceDefinition, subresourceSchema: string | undefined): ExpectedKind {
  if (subresourceSchema !== undefined && subresourceSchema !== definition.schema)
    return kindOfSchema(subresourceSchema);
  return { apiVersion: apiVersionOf(definition), kind: definition.kind, schema: definition.schema };
}

function kindOfSchema(schema: SchemaRef): ExpectedKind {
  const name = schemaNameOf(schema);
  const named = publishedSchemas[name]?.['x-group-version-kind'] ?? [];
  const own = named.find((gvk) => gvk.group === '' && gvk.version === 'v1') ?? named[0];
  const kind = own?.kind ?? name.split('.').at(-1) ?? name;
  return { apiVersion: own === undefined ? 'v1' : apiVersionOf(own), kind, schema };
}

const UNSUPPORTED_BODY =
  'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf';

function beginBody(
  bytes: Uint8Array,
  mediaType: string,
  expected: ExpectedKind,
  mode: FieldValidation,
): () => DecodedObject {
  const type = mediaType.split(';')[0]?.trim();
  if (type === 'application/vnd.kubernetes.protobuf') return () => decodeProtobufBody(bytes, expected);
  if (type !== '' && type !== 'application/json' && type !== 'application/yaml')
    throw new StatusError('UnsupportedMediaType', UNSUPPORTED_BODY);
  const { parsed, duplicates } = parseBody(bytes, type === 'application/yaml' ? 'yaml' : 'json', expected.kind);
  checkKind(parsed, expected, bytes);
  return () => decodeParsed(parsed, duplicates, expected, mode);
}

function decodeProtobufBody(bytes: Uint8Array, expected: ExpectedKind): DecodedObject {
  let object: KubeObject;
  try {
    object = decodeProtobuf(bytes, expected);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    throw unrecognized(expected.kind, error.message, bytes);
  }
  checkKind(object as ParsedObject, expected, bytes);
  const { custom } = schemaOf(expected.schema);
  if (custom === undefined) return { object, warnings: [] };
  const { value } = readOrRefuse(expected, () => custom.read(object as Record<string, unknown>));
  return { object: value as KubeObject, warnings: [] };
}

function readOrRefuse<T>(expected: ExpectedKind, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DecodeError) throw cannotBeHandled(expected, expected.kind, error.message);
    throw error;
  }
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

interface ParsedBody {
  readonly parsed: ParsedObject;
  /** Messages about duplicate keys. */
  readonly duplicates: readonly string[];
}

function parseBody(bytes: Uint8Array, syntax: 'json' | 'yaml', kind: string): ParsedBody {
  const text = utf8.decode(bytes);
  let value: Parsed;
  let duplicates: readonly string[];
  try {
    const result = syntax === 'json' ? parseJsonText(text) : parseYamlText(text);
    value = result.value;
    duplicates =
      syntax === 'json'
        ? result.duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`)
        : yamlComplaint(result.duplicates);
  } catch (error) {
    if (error instanceof JsonSyntaxError)
      throw unrecognized(kind, `couldn't get version/kind; json parse error: ${error.message}`, bytes);
    if (error instanceof YamlSyntaxError) throw unrecognized(kind, error.message, bytes);
    throw error;
  }
  if (value === null) return { parsed: {}, duplicates };
  if (typeof value !== 'object' || Array.isArray(value) || value instanceof NumberLiteral) {
    throw unrecognized(kind, versionKindError(jsonTypeOf(value)), bytes);
  }
  for (const field of ['apiVersion', 'kind']) {
    const text = value[field] ?? null;
    if (text !== null && typeof text !== 'string') {
      throw unrecognized(
        kind,
        `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonTypeOf(text)} into Go struct field .${field} of type string`,
        bytes,
      );
    }
  }
  return { parsed: value, duplicates };
}

/** Go's decoder reports all duplicate keys of a YAML text in one message. */
function yamlComplaint(duplicates: readonly string[]): readonly string[] {
  return duplicates.length === 0 ? [] : [['yaml: unmarshal errors:', ...duplicates].join('\n  ')];
}

function versionKindError(found: string): string {
  return `couldn't get version/kind; json parse error: json: cannot unmarshal ${found} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`;
}

function unrecognized(kind: string, why: string, bytes: Uint8Array): StatusError {
  return StatusError.badRequest(
    `the object provided is unrecognized (must be of type ${kind}): ${why} (${summarize(bytes)})`,
  );
}

/** The start of a body for an error message: as text if it looks like JSON, else hexadecimal. */
function summarize(bytes: Uint8Array): string {
  if (bytes.length === 0) return '<empty>';
  const head = Buffer.from(bytes.subarray(0, 30));
  return `${bytes[0] === 0x7b ? head.toString() : head.toString('hex')}${bytes.length > 30 ? ' ...' : ''}`;
}

function checkKind(parsed: ParsedObject, expected: ExpectedKind, bytes: Uint8Array): void {
  if (schemaOf(expected.schema).custom !== undefined) {
    checkCustomKind(parsed, expected);
    return;
  }
  const kind = typeof parsed.kind === 'string' && parsed.kind !== '' ? parsed.kind : expected.kind;
  const apiVersion =
    typeof parsed.apiVersion === 'string' && parsed.apiVersion !== '' ? parsed.apiVersion : expected.apiVersion;
  if (kind === expected.kind && apiVersion === expected.apiVersion) return;
  if (apiVersion.split('/').length > 2) {
    throw unrecognized(expected.kind, `unexpected GroupVersion string: ${apiVersion}`, bytes);
  }
  if (servesAnyGroup(expected) && kind === expected.kind) return;
  throw cannotBeHandled({ ...expected, apiVersion }, kind, notRegistered(kind, apiVersion, expected.apiVersion));
}

/** A custom resource must contain its kind. Later rules check that it is the right one. */
function checkCustomKind(parsed: ParsedObject, expected: ExpectedKind): void {
  const { kind, apiVersion } = parsed;
  if (typeof kind !== 'string' || kind === '') {
    const text = JSON.stringify(parsed, (_key, value: unknown) =>
      value instanceof NumberLiteral ? Number(value.text) : value,
    );
    throw unrecognized(expected.kind, `Object 'Kind' is missing in '${text}'`, Buffer.from(text));
  }
  const version = typeof apiVersion === 'string' ? apiVersion : '';
  if (version === expected.apiVersion) return;
  throw StatusError.badRequest(
    `the API version in the data (${version}) does not match the expected API version (${expected.apiVersion})`,
  );
}

/** Kinds of request options are registered in every group. */
function servesAnyGroup(expected: ExpectedKind): boolean {
  return schemaNameOf(expected.schema).startsWith('meta.v1.');
}

function cannotBeHandled(expected: ExpectedKind, kind: string, why: string): StatusError {
  const version = expected.apiVersion.split('/').at(-1) ?? '';
  return StatusError.badRequest(`${kind} in version "${version}" cannot be handled as a ${expected.kind}: ${why}`);
}

function decodeParsed(
  parsed: ParsedObject,
  duplicates: readonly string[],
  expected: ExpectedKind,
  mode: FieldValidation,
): DecodedObject {
  const decoded = readOrRefuse(expected, () => decodeStruct(schemaOf(expected.schema), parsed));
  const unknown = decoded.unknown.map((path) => `unknown field ${JSON.stringify(path)}`);
  // Duplicate keys of YAML are found before anything is decoded.
  const complaints = duplicates[0]?.startsWith('yaml') ? [...duplicates, ...unknown] : [...unknown, ...duplicates];
  if (mode === 'Strict' && complaints.length > 0)
    throw cannotBeHandled(expected, expected.kind, `strict decoding error: ${complaints.join(', ')}`);
  const object = normaliseShape(named(decoded.value as KubeObject, expected), expected.schema);
  return { object: keepReset(object, parsed), warnings: mode === 'Warn' ? complaints.flatMap(linesOf) : [] };
}

/** Splits an error of Go's YAML decoder into one warning per line. */
function linesOf(complaint: string): readonly string[] {
  const lines = complaint.replace(/^error converting YAML to JSON: /, '').split('\n');
  return lines.length > 1 ? lines.slice(1).map((line) => line.trim()) : [complaint];
}

/** An empty list of managedFields resets them; an absent list does not. Normalising drops empty lists, so this keeps the reset. */
export function keepReset<T extends object>(object: T, document: Readonly<Record<string, unknown>>): T {
  const sent = (document['metadata'] as { readonly managedFields?: unknown } | null | undefined)?.managedFields;
  const { metadata } = object as { metadata?: Record<string, unknown> };
  if (Array.isArray(sent) && sent.length === 0 && metadata !== undefined) metadata['managedFields'] = [{}];
  return object;
}

function named(object: KubeObject, { apiVersion, kind }: ExpectedKind): KubeObject {
  return { ...object, apiVersion: object.apiVersion || apiVersion, kind: object.kind || kind };
}

/** Source positions of schemes in Kubernetes' error messages, for groups that other binaries than the apiserver define. */
const SCHEMES: Readonly<Record<string, string>> = {
  'apiextensions.k8s.io': 'k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55',
  'apiregistration.k8s.io': 'k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28',
};

const SCHEME = 'pkg/api/legacyscheme/scheme.go:30';

/** Kubernetes' message for an unknown kind and version. `served` is the correct version. */
export function notRegistered(kind: string, apiVersion: string, served: string): string {
  const scheme = SCHEMES[served.slice(0, Math.max(0, served.indexOf('/')))] ?? SCHEME;
  return `no kind "${kind}" is registered for version "${apiVersion}" in scheme "${scheme}"`;
}
