import { append } from '@gantry/base';
import {
  DecodeError,
  type JsonSchema,
  type ParsedObject,
  decodeStruct,
  isJsonObject,
  itemsOf,
  propertyOf,
  schemaOf,
  normaliseShape,
  validateObjectMeta,
  valuesOf,
} from '@gantry/apimachinery';
import { type FieldError, type ObjectMeta, dns1035Label, invalid, pathSegment, required } from '@gantry/objects';

const OBJECT_META = 'meta.v1.ObjectMeta';

/** What to do with malformed metadata: reject it in a request, or drop it if it was stored under an older schema. */
export type MalformedMetadata = 'refuse' | 'drop';

/** The metadata to store, and the paths of unknown fields in it. Throws DecodeError. */
export function readMetadata(
  value: unknown,
  malformed: MalformedMetadata,
): { metadata: ObjectMeta; unknown: readonly string[] } {
  if (isJsonObject(value)) {
    const { value: metadata, unknown } = decodeMetadata(value, malformed);
    return { metadata: normaliseShape(metadata, OBJECT_META), unknown: unknown.map((path) => `metadata.${path}`) };
  }
  if (malformed === 'refuse' && value !== undefined && value !== null) {
    const found = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
    throw new DecodeError(`json: cannot unmarshal ${found} into Go value of type v1.ObjectMeta`);
  }
  return { metadata: normaliseShape({}, OBJECT_META), unknown: [] };
}

function decodeMetadata(value: Record<string, unknown>, malformed: MalformedMetadata): ReturnType<typeof decodeStruct> {
  const type = schemaOf(OBJECT_META);
  if (malformed === 'refuse') return decodeStruct(type, value as ParsedObject);
  const kept: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    try {
      Object.assign(kept, decodeStruct(type, { [name]: field } as ParsedObject).value);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
    }
  }
  return { value: kept, unknown: [] };
}

/** Normalises the metadata of embedded resources. Changes `value`. Returns the paths of unknown fields. Throws DecodeError. */
export function coerceEmbedded(
  value: unknown,
  schema: JsonSchema | undefined,
  malformed: MalformedMetadata,
  path = '',
): readonly string[] {
  if (schema === undefined) return [];
  if (Array.isArray(value)) {
    return value.flatMap((item, i) => coerceEmbedded(item, itemsOf(schema), malformed, `${path}[${i}]`));
  }
  if (!isJsonObject(value)) return [];
  const unknown: string[] = [];
  if (schema['x-kubernetes-embedded-resource'] === true) append(unknown, coerceResource(value, malformed, path));
  for (const key of Object.keys(value)) {
    const inner = path === '' ? key : `${path}.${key}`;
    const property = propertyOf(schema, key);
    if (property !== undefined) append(unknown, coerceEmbedded(value[key], property, malformed, inner));
    else append(unknown, coerceEmbedded(value[key], valuesOf(schema), malformed, `${path}[${key}]`));
  }
  return unknown;
}

function coerceResource(value: Record<string, unknown>, malformed: MalformedMetadata, path: string): readonly string[] {
  for (const name of ['apiVersion', 'kind']) {
    if (!Object.hasOwn(value, name) || typeof value[name] === 'string') continue;
    if (malformed === 'refuse')
      throw new DecodeError(`${child(path, name)}: Invalid value: ${JSON.stringify(value[name])}: must be a string`);
    delete value[name];
  }
  if (!Object.hasOwn(value, 'metadata')) return [];
  const { metadata, unknown } = readMetadata(value.metadata, malformed);
  value.metadata = metadata;
  return unknown.map((inner) => child(path, inner));
}

/** Errors in the kind, version and metadata of embedded resources. */
export function validateEmbedded(value: unknown, schema: JsonSchema | undefined, path = ''): FieldError[] {
  if (schema === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((item, i) => validateEmbedded(item, itemsOf(schema), `${path}[${i}]`));
  if (!isJsonObject(value)) return [];
  const own = schema['x-kubernetes-embedded-resource'] === true ? validateResource(value, path) : [];
  const inner = Object.keys(value).flatMap((key) => {
    const property = propertyOf(schema, key);
    if (property !== undefined) return validateEmbedded(value[key], property, child(path, key));
    return validateEmbedded(value[key], valuesOf(schema), `${path}[${key}]`);
  });
  return [...own, ...inner];
}

function child(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function validateResource(value: Record<string, unknown>, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { apiVersion, kind } = value;
  if (apiVersion === undefined) errors.push(required(child(path, 'apiVersion')));
  if (kind === undefined) errors.push(required(child(path, 'kind')));
  if (apiVersion !== undefined) append(errors, validateApiVersion(apiVersion, child(path, 'apiVersion')));
  if (kind !== undefined) append(errors, validateKind(kind, child(path, 'kind')));
  if (Object.hasOwn(value, 'metadata') && isJsonObject(value.metadata)) {
    const metadata = { name: 'fakename', ...value.metadata } as ObjectMeta;
    const rules = {
      namespaced: (metadata.namespace ?? '') !== '',
      validateName: pathSegment,
      finalizers: 'qualified',
    } as const;
    append(errors, validateObjectMeta(metadata, rules, child(path, 'metadata')));
  }
  return errors;
}

function validateApiVersion(apiVersion: unknown, path: string): FieldError[] {
  if (typeof apiVersion !== 'string') return [invalid(path, apiVersion, 'must be a string')];
  if (apiVersion === '') return [invalid(path, apiVersion, 'must not be empty')];
  if (apiVersion.split('/').length > 2)
    return [invalid(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)];
  return [];
}

function validateKind(kind: unknown, path: string): FieldError[] {
  if (typeof kind !== 'string') return [invalid(path, kind, 'must be a string')];
  if (kind === '') return [invalid(path, kind, 'must not be empty')];
  const wrong = dns1035Label(kind.toLowerCase());
  if (wrong.length === 0) return [];
  return [invalid(path, kind, `may have mixed case, but should otherwise match: ${wrong.join(',')}`)];
}
