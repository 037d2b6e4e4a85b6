import { append } from '@gantry/base';
import { type FieldValidation, keepReset, notRegistered } from '../decode/decode-object.ts';
import { DecodeError, decodeStruct, type ErrorDialect } from '../values/decode-value.ts';
import {
  JsonSyntaxError,
  NumberLiteral,
  type Parsed,
  type ParsedObject,
  parseJsonText,
  plainJson,
} from '../values/json-parser.ts';
import { jsonTypeOf } from '../values/scalars.ts';
import { normaliseShape } from '../values/normalise-shape.ts';
import { apiVersionOf, cloneJson, invalid, type JsonObject, type KubeObject, StatusError } from '@gantry/objects';
import type { ResourceDefinition } from '../resource-definition.ts';
import { schemaOf, type SchemaRef, type StructType } from '../schema/type-schema.ts';
import { goFormat } from './go-format.ts';
import { applyJsonPatch, PatchConflict, readOperations } from './json-patch.ts';
import { applyMergePatch, isPlainObject } from './merge-patch.ts';
import { applyStrategicMergePatch, StrategicPatchError } from './strategic-merge.ts';

/** Media types of patches that `applyPatch` understands. */
export const PATCH_TYPES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
] as const;

/** The maximum number of operations in one JSON patch. */
const MAX_OPERATIONS = 10_000;

/** A patch as it is sent: media type, possibly with parameters, and content. */
export interface Patch {
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** How the patched object is decoded. */
export interface PatchOptions {
  readonly definition: ResourceDefinition;
  readonly mode: FieldValidation;
  /** The schema of a subresource with its own kind; the definition's when absent. */
  readonly schema?: SchemaRef | undefined;
}

export interface PatchedObject {
  readonly object: JsonObject;
  /** Texts for `Warning: 299` headers. */
  readonly warnings: string[];
}

interface Merged {
  readonly document: unknown;
  /** The part of the patch that error messages contain. */
  readonly shown: string;
  readonly dialect: ErrorDialect;
  readonly complaints: readonly string[];
}

/**
 * `original` with a patch applied, decoded like a request body: canonical form, normalised shape, unknown fields dropped. Does not change
 * `original`. Throws StatusError: BadRequest for a malformed patch, Invalid for one that does not apply, UnsupportedMediaType.
 */
export function applyPatch(
  original: KubeObject,
  patch: Patch,
  { definition, mode, schema = definition.schema }: PatchOptions,
): PatchedObject {
  const merged = merge(patch, original, schema, mode);
  const { document, shown, dialect } = merged;
  if (!isPlainObject(document)) throw invalidPatch(shown, 'json: cannot unmarshal into Go value');
  if (losesVersion(document, original, definition, dialect)) return unread(merged, document, original, mode);
  checkKind(document, original, definition, shown, dialect);
  const type = schemaOf(schema);
  let decoded: ReturnType<typeof decodeStruct>;
  try {
    decoded = decodeStruct(type, document as ParsedObject, dialect);
  } catch (error) {
    if (error instanceof DecodeError) throw invalidPatch(shown, error.message);
    throw error;
  }
  // Kubernetes serialises the results of these patches, sorted by name, before it decodes them.
  const unknown = dialect === 'json' ? [...decoded.unknown].sort() : decoded.unknown;
  const complaints = [...merged.complaints, ...unknown.map((path) => `unknown field ${JSON.stringify(path)}`)];
  if (mode === 'Strict' && complaints.length > 0)
    throw invalidPatch(shown, `strict decoding error: ${complaints.join(', ')}`);
  const object = keepReset(normaliseShape(decoded.value, schema) as JsonObject, document);
  return { object, warnings: mode === 'Warn' ? complaints : [] };
}

/** Whether the patch removes apiVersion or kind, which determine how the result is decoded. Strategic merges do not need them. */
function losesVersion(
  { apiVersion = null, kind = null }: Record<string, unknown>,
  original: KubeObject,
  definition: ResourceDefinition,
  dialect: ErrorDialect,
): boolean {
  if (dialect !== 'json' || definition.publishedSchema !== undefined) return false;
  return (apiVersion === null || apiVersion === '') && (kind === null || kind === '' || kind === original.kind);
}

/** Without apiVersion or kind, Kubernetes decodes the result as its internal form of the kind, whose field names differ from the API's. */
function unread(
  { shown, complaints }: Merged,
  document: Record<string, unknown>,
  { apiVersion, kind }: KubeObject,
  mode: FieldValidation,
): PatchedObject {
  const fields = Object.keys(document).filter((name) => name !== 'apiVersion' && name !== 'kind');
  const unknown = [...complaints, ...fields.sort().map((name) => `unknown field ${JSON.stringify(name)}`)];
  if (mode === 'Strict') throw invalidPatch(shown, `strict decoding error: ${unknown.join(', ')}`);
  return { object: { apiVersion, kind, metadata: {} }, warnings: mode === 'Warn' ? unknown : [] };
}

function merge({ type, bytes }: Patch, original: KubeObject, schema: SchemaRef, mode: FieldValidation): Merged {
  switch (type.split(';')[0]?.trim()) {
    case 'application/json-patch+json':
      return jsonPatched(original, bytes, mode);
    case 'application/merge-patch+json':
      return mergePatched(original, bytes);
    case 'application/strategic-merge-patch+json':
      if (!takesStrategic(schemaOf(schema))) throw notForCustomResources();
      return strategicallyMerged(original, bytes, schema);
    default:
      throw new StatusError('UnsupportedMediaType', '415: Unsupported Media Type', { details: {} });
  }
}

function takesStrategic({ custom, patches }: StructType): boolean {
  return custom === undefined || patches === 'strategic';
}

/** Custom resources have no merge strategies. */
function notForCustomResources(): StatusError {
  const accepted = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'];
  return new StatusError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );
}

/**
 * A patch cannot change the kind of an object. Strategic merges are decoded into a typed value, so kind and apiVersion in the patch are
 * only checked.
 */
function checkKind(
  document: JsonObject | Record<string, unknown>,
  original: KubeObject,
  definition: ResourceDefinition,
  shown: string,
  dialect: ErrorDialect,
): void {
  const served = original.apiVersion ?? apiVersionOf(definition);
  const { apiVersion = null, kind = null } = document;
  if (definition.publishedSchema !== undefined && served === apiVersionOf(definition)) {
    checkCustomKind(document, original, shown);
    return;
  }
  if (dialect === 'unstructured') {
    if (apiVersion === null || typeof apiVersion === 'string') document.apiVersion = served;
    if (kind === null || typeof kind === 'string') document.kind = original.kind;
    return;
  }
  const given = { apiVersion: apiVersion ?? served, kind: kind === '' ? original.kind : (kind ?? original.kind) };
  Object.assign(document, given);
  if (given.kind === original.kind && given.apiVersion === served) return;
  throw invalidPatch(shown, notRegistered(goFormat(given.kind), goFormat(given.apiVersion), served));
}

/** The stored kind and apiVersion of a custom resource are part of the object, so they must not be removed. */
function checkCustomKind(
  { apiVersion = null, kind = null }: JsonObject | Record<string, unknown>,
  original: KubeObject,
  shown: string,
): void {
  for (const [name, value] of Object.entries({ apiVersion, kind })) {
    if (value === null || typeof value === 'string') continue;
    const found = jsonTypeOf(value as Parsed);
    const why = `json: cannot unmarshal ${found} into Go struct field .${name} of type string`;
    throw invalidPatch(shown, `couldn't get version/kind; json parse error: ${why}`);
  }
  if (kind === null || kind === '') throw invalidPatch(shown, `Object 'Kind' is missing in '${shown}'`);
  if (apiVersion === null || apiVersion === '') {
    throw StatusError.internal("Object 'apiVersion' is missing in 'object has no apiVersion field'");
  }
  const errors = [
    ...(kind === original.kind ? [] : [invalid('kind', kind, `must be ${original.kind}`)]),
    ...(apiVersion === original.apiVersion
      ? []
      : [invalid('apiVersion', apiVersion, `must be ${original.apiVersion}`)]),
  ];
  if (errors.length === 0) return;
  const group = String(apiVersion).split('/').slice(0, -1).join('/');
  throw StatusError.invalid(group, String(kind), original.metadata.name ?? '', errors);
}

function invalidPatch(shown: string, why: string): StatusError {
  return StatusError.invalid('', '', '', [invalid('patch', shown, why)]);
}

interface ParsedPatch {
  readonly value: Parsed;
  readonly duplicates: readonly string[];
}

function parsePatch(patch: Uint8Array): ParsedPatch {
  const result = parseJsonText(new TextDecoder('utf-8', { ignoreBOM: true }).decode(patch));
  return {
    value: result.value,
    duplicates: result.duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`),
  };
}

function parsedObject(
  patch: Uint8Array,
  prefix: string,
  nothing: 'refused' | 'taken',
): ParsedPatch & { value: ParsedObject } {
  let parsed: ParsedPatch;
  try {
    parsed = parsePatch(patch);
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw StatusError.badRequest(`${prefix}${error.message}`);
    throw error;
  }
  const { value } = parsed;
  if (value === null) {
    if (nothing === 'refused') throw StatusError.badRequest('Invalid JSON Patch');
    return { ...parsed, value: {} };
  }
  if (typeof value !== 'object' || Array.isArray(value) || value instanceof NumberLiteral)
    throw StatusError.badRequest(
      `${prefix}json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type map[string]interface {}`,
    );
  return { ...parsed, value };
}

function mergePatched(original: KubeObject, patch: Uint8Array): Merged {
  const { value, duplicates } = parsedObject(patch, 'error decoding patch: ', 'refused');
  const document = applyMergePatch(original, value);
  return { document, shown: showDocument(document), dialect: 'json', complaints: duplicates };
}

/** The document as JSON, with number literals by their text. */
function showDocument(document: unknown): string {
  return JSON.stringify(document, (_key, value: unknown) =>
    value instanceof NumberLiteral ? plainJson(value) : value,
  );
}

function strategicallyMerged(original: KubeObject, patch: Uint8Array, schema: SchemaRef): Merged {
  const { value, duplicates } = parsedObject(patch, '', 'taken');
  try {
    const document = applyStrategicMergePatch(original, value, schemaOf(schema));
    return { document, shown: goFormat(value), dialect: 'unstructured', complaints: duplicates };
  } catch (error) {
    if (error instanceof StrategicPatchError) throw StatusError.badRequest(error.message);
    throw error;
  }
}

function jsonPatched(original: KubeObject, patch: Uint8Array, mode: FieldValidation): Merged {
  const { operations, complaints } = parseOperations(patch, mode);
  try {
    const document = applyJsonPatch(cloneJson(original), readOperations(operations));
    return { document, shown: showDocument(document), dialect: 'json', complaints };
  } catch (error) {
    if (error instanceof PatchConflict) throw rejected();
    throw error;
  }
}

/** Kubernetes' error for every JSON patch that does not apply. */
function rejected(): StatusError {
  return new StatusError('Invalid', 'the server rejected our request due to an error in our request', { details: {} });
}

interface ParsedOperations {
  readonly operations: readonly Parsed[];
  readonly complaints: readonly string[];
}

/** Unless the mode is 'Ignore', Kubernetes decodes a JSON patch twice. The first, strict decoding has other error messages. */
function parseOperations(patch: Uint8Array, mode: FieldValidation): ParsedOperations {
  const strict = mode !== 'Ignore';
  const refused = (value: Parsed, into: string) =>
    StatusError.badRequest(
      `${strict ? 'error decoding patch: ' : ''}json: cannot unmarshal ${jsonTypeOf(value)} into Go ${into}`,
    );
  let parsed: ParsedPatch;
  try {
    parsed = parsePatch(patch);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw StatusError.badRequest(`${strict ? 'error decoding patch: ' : ''}${error.message}`);
  }
  const { value } = parsed;
  if (value === null) return { operations: [], complaints: [] };
  if (!Array.isArray(value))
    throw refused(value, strict ? 'value of type []handlers.jsonPatchOp' : 'value of type jsonpatch.Patch');
  const complaints = parsed.duplicates.map((duplicate) => `json patch ${duplicate}`);
  for (const [index, item] of value.entries()) {
    if (item === null) continue;
    if (!isPlainObject(item))
      throw refused(item, strict ? 'value of type handlers.jsonPatchOp' : 'value of type jsonpatch.Operation');
    if (strict) append(complaints, strictComplaints(item, index, refused));
  }
  if (value.length > MAX_OPERATIONS)
    throw new StatusError(
      'RequestEntityTooLarge',
      `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${value.length}`,
    );
  return { operations: value, complaints };
}

function strictComplaints(
  item: ParsedObject,
  index: number,
  refused: (value: Parsed, into: string) => StatusError,
): readonly string[] {
  for (const name of ['op', 'path', 'from']) {
    const value = item[name];
    if (value !== undefined && value !== null && typeof value !== 'string')
      throw refused(value, `struct field jsonPatchOp.${name} of type string`);
  }
  const unknown = Object.keys(item).filter((name) => !['op', 'path', 'from', 'value'].includes(name));
  return unknown.map((name) => `json patch unknown field ${JSON.stringify(`[${index}].${name}`)}`);
}
