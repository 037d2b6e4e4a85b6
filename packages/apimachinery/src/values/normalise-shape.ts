import { type Field, schemaOf, type SchemaRef, type StructType, type Type } from '../schema/type-schema.ts';
import { markGivenEmpty } from './given-empty.ts';

/**
 * Gives an object the shape that a Kubernetes API server would return. Removes empty lists, maps and scalars that Go's encoding omits. Adds
 * structs that Go always writes (`status: {}`), and zero values and nulls of fields that it never omits. Remembers which lists and maps
 * were empty (see `givenEmpty`). Changes `object` itself and returns it. Call it after everything that changes an object (strategies,
 * patches), before the object is stored or returned. Idempotent.
 */
export function normaliseShape<T extends object>(object: T, schema: SchemaRef): T {
  const type = schemaOf(schema);
  if (type.custom === undefined) normaliseStruct(object as Record<string, unknown>, type);
  else if ('metadata' in object)
    normaliseStruct(object.metadata as Record<string, unknown>, schemaOf('meta.v1.ObjectMeta'));
  return object;
}

function normaliseStruct(object: Record<string, unknown>, type: StructType): void {
  for (const field of alwaysWritten(type)) {
    if (object[field.name] === undefined) object[field.name] = normaliseField(undefined, field);
  }
  // Iterates over the object, because it has only a few of the many fields of its type.
  for (const name in object) {
    const field = type.fields.get(name);
    if (field === undefined) continue;
    const found = object[name];
    const { kind } = field.type;
    if ((kind === 'list' || kind === 'map') && found !== undefined && found !== null && isEmpty(found))
      markGivenEmpty(object, name, kind);
    const value = normaliseField(found, field);
    if (value === undefined) delete object[name];
    else if (value !== found) object[name] = value;
  }
}

const written = new WeakMap<StructType, readonly Field[]>();

/** The fields of a type that Go writes even if they are absent. */
function alwaysWritten(type: StructType): readonly Field[] {
  let fields = written.get(type);
  if (fields === undefined) {
    fields = [...type.fields.values()].filter((field) => normaliseField(undefined, field) !== undefined);
    written.set(type, fields);
  }
  return fields;
}

/** The field's value as Go writes it; undefined if Go omits it. */
function normaliseField(value: unknown, field: Field): unknown {
  const { type, held, omit } = field;
  switch (type.kind) {
    case 'list':
    case 'map':
      if (isEmpty(value)) return omit === 'never' ? null : undefined;
      normaliseItems(value, type);
      return value;
    case 'any':
      if (type.schemaOr !== undefined) normaliseSchemas(value);
      if (value !== undefined && value !== null) return value;
      return held === 'value' && omit !== 'zero' ? null : undefined;
    case 'struct':
      return normaliseNested(value, type, field);
    case 'scalar':
      return normaliseScalar(value, type.scalar, field);
  }
}

/** Normalises fields that contain schemas or an alternative. */
function normaliseSchemas(value: unknown): void {
  for (const schema of Array.isArray(value) ? (value as unknown[]) : [value]) {
    if (schema === null || typeof schema !== 'object') continue;
    normaliseStruct(schema as Record<string, unknown>, schemaOf('apiextensions.v1.JSONSchemaProps'));
  }
}

function normaliseNested(value: unknown, type: StructType, { held, omit }: Field): unknown {
  if ((value === undefined || value === null) && held === 'pointer') return omit === 'never' ? null : undefined;
  const nested = (value ?? {}) as Record<string, unknown>;
  normaliseStruct(nested, type);
  return omit === 'zero' && held === 'value' && Object.keys(nested).length === 0 ? undefined : nested;
}

function normaliseScalar(value: unknown, scalar: string, { held, omit }: Field): unknown {
  const absent = value === undefined || value === null;
  if (held === 'pointer') {
    if (scalar === 'bytes' && value === '') return omit === 'never' ? '' : undefined;
    return absent ? (omit === 'never' ? null : undefined) : value;
  }
  if (scalar === 'time' || scalar === 'microTime') return absent ? (omit === 'zero' ? undefined : null) : value;
  if (scalar === 'quantity' || scalar === 'intOrString') {
    if (!absent) return value;
    return omit === 'zero' ? undefined : scalar === 'quantity' ? '0' : 0;
  }
  const zero = scalar === 'string' ? '' : scalar === 'boolean' ? false : 0;
  if (absent || value === zero) return omit === 'never' ? zero : undefined;
  return value;
}

function normaliseItems(value: unknown, type: Type & { kind: 'list' | 'map' }): void {
  const items = type.kind === 'list' ? type.items : type.values;
  if (items.kind === 'scalar' || items.kind === 'any') return;
  for (const item of Object.values(value as object) as unknown[]) {
    if (item === null || typeof item !== 'object') continue;
    if (items.kind === 'struct') normaliseStruct(item as Record<string, unknown>, items);
    else normaliseItems(item, items);
  }
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.length === 0;
  for (const _key in value) return false;
  return true;
}
