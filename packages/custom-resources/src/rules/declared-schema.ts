import {
  type DeclaredType,
  declaredBool,
  declaredDouble,
  declaredInt,
  declaredList,
  declaredMap,
  declaredObject,
  BYTES,
  DURATION,
  DYN,
  MAX_REQUEST_BYTES,
  STRING,
  TIMESTAMP,
} from '@gantry/cel';
import { type JsonSchema, itemsOf, valuesOf } from '@gantry/apimachinery';
import { escapeName } from './escape-name.ts';

const TEXT: JsonSchema = { type: 'string' };

/** A resource's schema with what every resource has, whether its schema names it or not. */
export function withTypeAndMetadata(schema: JsonSchema): JsonSchema {
  return {
    ...schema,
    properties: {
      ...schema.properties,
      kind: TEXT,
      apiVersion: TEXT,
      metadata: { type: 'object', properties: { name: TEXT, generateName: TEXT } },
    },
  };
}

/** What rules know of a value of the schema; undefined where they know nothing. Objects are named by their path. */
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
  const fields = new Map<string, DeclaredType>();
  let size = 2;
  for (const [property, inner] of Object.entries(schema.properties ?? {})) {
    const escaped = escapeName(property);
    const type = declaredTypeOf(inner, isEmbedded(inner), `${name}.${escaped ?? property}`);
    if (type === undefined) continue;
    if (escaped !== undefined) fields.set(escaped, type);
    const isRequired = schema.required?.includes(property) === true;
    if (isRequired && (inner.default === undefined || inner.default === null)) {
      size += Buffer.byteLength(property) + type.minSerializedSize + 4;
    }
  }
  return declaredObject(name, fields, size);
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
