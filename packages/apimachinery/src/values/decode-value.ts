import { setMember } from '@gantry/objects';
import {
  type Field,
  type ScalarKind,
  type SchemaAlternative,
  schemaOf,
  type StructType,
  type Type,
} from '../schema/type-schema.ts';
import { MAX_REPORTED } from './document-limits.ts';
import { formatPath, NumberLiteral, type Parsed, type ParsedObject, plainJson } from './json-parser.ts';
import { ContentError, decodeScalar, jsonTypeOf, TypeMismatch } from './scalars.ts';

/** A value that does not fit its field, with the message of Go's decoder. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

/** The style of error messages: that of Go's JSON decoder, or of Kubernetes' converter, which strategic merge patches use. */
export type ErrorDialect = 'json' | 'unstructured';

export interface Decoded {
  readonly value: Record<string, unknown>;
  /** Paths of unknown fields, in the order of the text. */
  readonly unknown: readonly string[];
}

/**
 * Decodes `parsed` as `type`: drops unknown fields and nulls, converts scalars to canonical form, and sets defaults of the schema. Throws
 * DecodeError.
 */
export function decodeStruct(type: StructType, parsed: ParsedObject, dialect: ErrorDialect = 'json'): Decoded {
  if (type.custom !== undefined) return type.custom.read(plainJson(parsed) as Record<string, unknown>);
  const decoder = new Decoder(dialect);
  return { value: decoder.struct(type, parsed), unknown: decoder.unknown };
}

class Decoder {
  readonly unknown: string[] = [];
  readonly #path: (string | number)[] = [];
  /** The names of fields on the path, without indexes and map keys. */
  readonly #fields: string[] = [];
  readonly #dialect: ErrorDialect;
  #owner = '';

  constructor(dialect: ErrorDialect) {
    this.#dialect = dialect;
  }

  struct(type: StructType, parsed: ParsedObject): Record<string, unknown> {
    const out: Record<string, unknown> = {};
    const owner = type.goType.slice(type.goType.indexOf('.') + 1);
    const { fields } = type;
    for (const name in parsed) {
      const field = fields.get(name);
      this.#path.push(name);
      if (field === undefined) {
        if (this.unknown.length < MAX_REPORTED) this.unknown.push(formatPath(this.#path));
      } else {
        this.#owner = owner;
        this.#fields.push(name);
        const value = this.#field(field, parsed[name] ?? null);
        this.#fields.pop();
        if (value !== undefined) out[name] = value;
      }
      this.#path.pop();
    }
    fillDefaults(fields, out);
    return out;
  }

  #field(field: Field, parsed: Parsed): unknown {
    return parsed === null ? undefined : this.#value(field.type, parsed);
  }

  #value(type: Type, parsed: Parsed): unknown {
    switch (type.kind) {
      case 'scalar':
        return this.#scalar(type, parsed);
      case 'struct':
        if (!isObject(parsed)) throw this.#mismatch(type, parsed, jsonTypeOf(parsed));
        return this.struct(type, parsed);
      case 'list':
        return this.#list(type, parsed);
      case 'map':
        return this.#map(type, parsed);
      case 'any':
        return type.schemaOr === undefined ? plainJson(parsed) : schemaOr(type.schemaOr, parsed);
    }
  }

  #list(type: Type & { kind: 'list' }, parsed: Parsed): unknown[] {
    if (!Array.isArray(parsed)) throw this.#mismatch(type, parsed, jsonTypeOf(parsed));
    const owner = this.#owner;
    return parsed.map((item, index) => {
      this.#owner = owner;
      this.#path.push(index);
      const value = item === null ? zeroOf(type.items) : this.#value(type.items, item);
      this.#path.pop();
      return value;
    });
  }

  #map(type: Type & { kind: 'map' }, parsed: Parsed): Record<string, unknown> {
    if (!isObject(parsed)) throw this.#mismatch(type, parsed, jsonTypeOf(parsed));
    const owner = this.#owner;
    const out: Record<string, unknown> = {};
    for (const key in parsed) {
      const item = parsed[key] ?? null;
      this.#owner = owner;
      // Paths of Kubernetes' converter do not contain keys of maps.
      if (this.#dialect === 'json') this.#path.push(key);
      const value = item === null ? zeroOf(type.values) : this.#value(type.values, item);
      if (this.#dialect === 'json') this.#path.pop();
      setMember(out, key, value);
    }
    return out;
  }

  #scalar(type: Type & { kind: 'scalar' }, parsed: Parsed): unknown {
    const given = this.#dialect === 'unstructured' ? convertNumber(type.scalar, parsed) : parsed;
    try {
      return decodeScalar(type.scalar, given) ?? undefined;
    } catch (error) {
      if (error instanceof TypeMismatch) throw this.#mismatch(type, parsed, error.found);
      if (error instanceof ContentError) {
        const prefix = this.#dialect === 'unstructured' && type.scalar === 'bytes' ? 'error decoding from json: ' : '';
        throw new DecodeError(prefix + error.message);
      }
      throw error;
    }
  }

  #mismatch(type: Type, parsed: Parsed, found: string): DecodeError {
    if (this.#dialect === 'unstructured') return new DecodeError(describeConversion(type, parsed, found));
    const path = this.#fields.join('.');
    const goType = printedType(type.goType);
    return new DecodeError(
      `json: cannot unmarshal ${found} into Go struct field ${this.#owner}.${path} of type ${goType}`,
    );
  }
}

/** A type as Go prints it, without the import names of packages. */
function printedType(goType: string): string {
  return goType.replace(/^\*/, '').replace(/\b(?:api|core|meta)v1\./, 'v1.');
}

const SCHEMA = 'apiextensions.v1.JSONSchemaProps';

/** Decodes a schema or one of its alternatives. Kubernetes decodes these separately and reports no unknown fields in them. */
function schemaOr(alternative: SchemaAlternative, parsed: Parsed): unknown {
  const read = (one: Parsed): unknown => {
    if (one === null) return {};
    if (isObject(one)) return new Decoder('json').struct(schemaOf(SCHEMA), one);
    throw new DecodeError(`json: cannot unmarshal ${jsonTypeOf(one)} into Go value of type v1.JSONSchemaProps`);
  };
  if (isObject(parsed)) return read(parsed);
  if (alternative === 'boolean') {
    if (typeof parsed === 'boolean') return parsed;
    throw new DecodeError('boolean or JSON schema expected');
  }
  // Kubernetes treats any other value as an empty list, which differs from an absent field.
  if (!Array.isArray(parsed)) return [];
  if (alternative === 'schemas') return parsed.map(read);
  return parsed.map((name) => {
    if (typeof name === 'string') return name;
    throw new DecodeError(`json: cannot unmarshal ${jsonTypeOf(name)} into Go value of type string`);
  });
}

/** A mismatch, worded like Kubernetes' converter. */
function describeConversion(type: Type, parsed: Parsed, found: string): string {
  const source = goKindOf(parsed);
  switch (type.kind) {
    case 'struct':
      return `cannot restore struct from: ${source}`;
    case 'map':
      return `cannot restore map from ${source}`;
    case 'list':
      return `cannot restore slice from ${source}`;
    case 'any':
      return `cannot restore from ${source}`;
    case 'scalar':
      return describeScalarConversion(type.scalar, source, found, type.goType);
  }
}

/**
 * A number as Kubernetes' converter reads it: integers wrap around to 32 bits in 32-bit fields; fractions with only zeros after the point
 * are integers.
 */
function convertNumber(scalar: ScalarKind, parsed: Parsed): Parsed {
  if (scalar !== 'int32' && scalar !== 'int64') return parsed;
  if (!(parsed instanceof NumberLiteral) && typeof parsed !== 'number') return parsed;
  const text = parsed instanceof NumberLiteral ? parsed.text : String(parsed);
  const value = Number(text);
  if (text.length > 400 || !Number.isInteger(value) || Math.abs(value) >= 2 ** 63) return parsed;
  const whole = /^-?\d+$/.test(text) ? BigInt(text) : BigInt(value);
  return scalar === 'int32' ? Number(BigInt.asIntN(32, whole)) : new NumberLiteral(String(whole));
}

function describeScalarConversion(scalar: ScalarKind, source: string, found: string, goType: string): string {
  switch (scalar) {
    case 'bytes':
      return `cannot restore slice from ${source}`;
    case 'intOrString':
      return `json: cannot unmarshal ${found} into Go value of type int32`;
    case 'time':
    case 'microTime':
    case 'quantity':
      return `json: cannot unmarshal ${found} into Go value of type string`;
    case 'string':
      return source === 'int64' ? `cannot convert int64 to ${printedType(goType)}` : 'unrecognized type: string';
    case 'boolean':
      return 'unrecognized type: bool';
    case 'int32':
    case 'int64':
      return source === 'float64' ? `cannot convert float64 to ${scalar}` : `unrecognized type: ${scalar}`;
    case 'double':
      return 'unrecognized type: float64';
  }
}

function goKindOf(parsed: Parsed): string {
  if (Array.isArray(parsed)) return 'slice';
  if (parsed instanceof NumberLiteral) return /^-?\d+$/.test(parsed.text) ? 'int64' : 'float64';
  if (typeof parsed === 'number') return Number.isInteger(parsed) ? 'int64' : 'float64';
  if (typeof parsed === 'boolean') return 'bool';
  return typeof parsed === 'string' ? 'string' : 'map';
}

function isObject(parsed: Parsed): parsed is ParsedObject {
  return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) && !(parsed instanceof NumberLiteral);
}

function fillDefaults(fields: ReadonlyMap<string, Field>, out: Record<string, unknown>): void {
  for (const field of defaultedFields(fields)) {
    const value = out[field.name];
    if (value === undefined || (value === '' && field.held === 'value')) out[field.name] = field.default;
  }
}

const defaulted = new WeakMap<ReadonlyMap<string, Field>, readonly Field[]>();

function defaultedFields(fields: ReadonlyMap<string, Field>): readonly Field[] {
  let found = defaulted.get(fields);
  if (found === undefined) {
    found = [...fields.values()].filter((field) => field.default !== undefined);
    defaulted.set(fields, found);
  }
  return found;
}

/** The zero value, which Go uses for a null where a value is required. */
function zeroOf(type: Type): unknown {
  switch (type.kind) {
    case 'struct': {
      const out: Record<string, unknown> = {};
      fillDefaults(type.fields, out);
      return out;
    }
    case 'list':
      return [];
    case 'map':
      return {};
    case 'any':
      return null;
    case 'scalar':
      switch (type.scalar) {
        case 'boolean':
          return false;
        case 'string':
        case 'bytes':
          return '';
        case 'quantity':
          return '0';
        case 'time':
        case 'microTime':
          return null;
        case 'int32':
        case 'int64':
        case 'double':
        case 'intOrString':
          return 0;
      }
  }
}
