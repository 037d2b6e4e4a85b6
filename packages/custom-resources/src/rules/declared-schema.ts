import {
  BYTES,
  declaredBool,
  declaredDouble,
  declaredInt,
  declaredLazily,
  declaredList,
  declaredMap,
  type DeclaredType,
  DURATION,
  DYN,
  MAX_REQUEST_BYTES,
  STRING,
  TIMESTAMP,
} from '@gantry/cel';
import { itemsOf, type JsonSchema, valuesOf } from '@gantry/apimachinery';

const TEXT: JsonSchema = { type: 'string' };

const asResources = new WeakMap<JsonSchema, JsonSchema>();

/** A resource's schema plus the fields of every resource. */
export function withTypeAndMetadata(schema: JsonSchema): JsonSchema {
  const known = asResources.get(schema);
  if (known !== undefined) return known;
  const made = {
    ...schema,
    properties: {
      ...schema.properties,
      kind: TEXT,
      apiVersion: TEXT,
      metadata: { type: 'object', properties: { name: TEXT, generateName: TEXT } },
    },
  };
  asResources.set(schema, made);
  return made;
}

/** The declared type of values of the schema; undefined if it is unknown. Object types are named by their path. */
export function declaredTypeOf(schema: JsonSchema, isResource: boolean, name: string): DeclaredType | undefined {
  if (schema['x-kubernetes-int-or-string'] === true) {
    return { type: DYN, maxElements: textLength(schema, MAX_REQUEST_BYTES - 2), minSerializedSize: 1 };
  }
  switch (schema.type) {
    case 'array':
      return listOf(schema, name);
    case 'object':
      return objectOf(isResource ? withTypeAndMetadata(schema) : schema, name);
    case 'string':
      return textOf(schema);
    case 'boolean':
      return declaredBool;
    case 'number':
      return declaredDouble;
    case 'integer':
      return declaredInt;
    default:
      return undefined;
  }
}

const isEmbedded = (schema: JsonSchema) => schema['x-kubernetes-embedded-resource'] === true;

function listOf(schema: JsonSchema, name: string): DeclaredType | undefined {
  const items = itemsOf(schema);
  const element = items && declaredTypeOf(items, isEmbedded(items), `${name}.@idx`);
  if (element === undefined) return undefined;
  const most = Math.floor((MAX_REQUEST_BYTES - 2) / (element.minSerializedSize + 1));
  return declaredList(element, bound(schema.maxItems, most));
}

const bound = (given: number | undefined, otherwise: number) => (given === undefined ? otherwise : Math.max(0, given));

function objectOf(schema: JsonSchema, name: string): DeclaredType | undefined {
  const values = valuesOf(schema);
  if (values !== undefined) {
    const element = declaredTypeOf(values, isEmbedded(values), `${name}.@elem`);
    if (element === undefined) return undefined;
    const most = Math.floor((MAX_REQUEST_BYTES - 2) / (element.minSerializedSize + 6));
    return declaredMap(element, bound(schema.maxProperties, most));
  }
  return declaredLazily(name, () => fieldsOf(schema, name), sizeOfObject(schema));
}

function fieldsOf(schema: JsonSchema, name: string): ReadonlyMap<string, DeclaredType> {
  const fields = new Map<string, DeclaredType>();
  for (const [property, inner] of Object.entries(schema.properties ?? {})) {
    const escaped = escapeName(property);
    if (escaped === undefined) continue;
    const type = declaredTypeOf(inner, isEmbedded(inner), `${name}.${escaped}`);
    if (type !== undefined) fields.set(escaped, type);
  }
  return fields;
}

const sizes = new WeakMap<JsonSchema, number>();

/**
 * The size of the smallest valid object: its required fields. Computed once per schema, because several surrounding levels may have rules.
 */
function sizeOfObject(schema: JsonSchema): number {
  const known = sizes.get(schema);
  if (known !== undefined) return known;
  let size = 2;
  const needed = new Set(schema.required ?? []);
  for (const [property, inner] of Object.entries(schema.properties ?? {})) {
    if (!needed.has(property) || (inner.default !== undefined && inner.default !== null)) continue;
    const type = declaredTypeOf(inner, isEmbedded(inner), '');
    if (type !== undefined) size += Buffer.byteLength(property) + type.minSerializedSize + 4;
  }
  sizes.set(schema, size);
  return size;
}

/** A character takes up to four bytes. */
function textLength(schema: JsonSchema, otherwise: number): number {
  return schema.maxLength === undefined ? otherwise : Math.max(0, schema.maxLength) * 4;
}

function textOf(schema: JsonSchema): DeclaredType {
  switch (schema.format) {
    case 'byte':
      return { type: BYTES, maxElements: bound(schema.maxLength, MAX_REQUEST_BYTES - 2), minSerializedSize: 2 };
    case 'duration':
      return { type: DURATION, maxElements: 32, minSerializedSize: 3 };
    case 'date':
      return { type: TIMESTAMP, maxElements: 12, minSerializedSize: 12 };
    case 'date-time':
      return { type: TIMESTAMP, maxElements: 32, minSerializedSize: 21 };
    default: {
      const choices = (schema.enum ?? []).map((value) => (typeof value === 'string' ? Buffer.byteLength(value) : 0));
      const longest = choices.length > 0 ? choices.reduce((a, b) => Math.max(a, b)) : MAX_REQUEST_BYTES - 2;
      return { type: STRING, maxElements: textLength(schema, longest), minSerializedSize: 2 };
    }
  }
}

const RESERVED = new Set([
  ...['true', 'false', 'null', 'in', 'as', 'break', 'const', 'continue', 'else', 'for', 'function', 'if', 'import'],
  ...['let', 'loop', 'package', 'namespace', 'return', 'var', 'void', 'while'],
]);

const ESCAPES: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
};

/** The name of a property in rules: `a-b` is `a__dash__b`. Undefined if rules cannot name it. */
export function escapeName(name: string): string | undefined {
  if (RESERVED.has(name)) return `__${name}__`;
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  return name.replace(/__|[./-]/g, (found) => ESCAPES[found] ?? found);
}
