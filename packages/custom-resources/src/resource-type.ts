import {
  type CustomCodec,
  type Field,
  type JsonSchema,
  type ListType,
  type StructType,
  type Type,
  itemsOf,
  schemaOf,
  valuesOf,
} from '@gantry/apimachinery';

const STRING: Type = { kind: 'scalar', scalar: 'string', goType: 'string' };
const ANY_SCALAR: Type = { kind: 'scalar', scalar: 'intOrString', goType: '' };
const DEDUCED: Type = { kind: 'any', goType: '', deduced: true };

/** The type of a custom resource for field ownership. `codec` decides what is read and stored. */
export function resourceType(schema: JsonSchema, codec: CustomCodec): StructType {
  const struct = structType(schema);
  const fields = new Map([...struct.fields, ...metaFields(schemaOf('meta.v1.ObjectMeta'))]);
  return { ...struct, fields, custom: codec };
}

function metaFields(metadata: Type): readonly (readonly [string, Field])[] {
  return [
    ['apiVersion', field('apiVersion', STRING, false)],
    ['kind', field('kind', STRING, false)],
    ['metadata', field('metadata', metadata, false)],
  ];
}

function structType(schema: JsonSchema): StructType {
  const required = new Set(schema.required ?? []);
  const own = Object.entries(schema.properties ?? {}).map(
    ([name, property]) => [name, field(name, typeOf(property), required.has(name), property.default)] as const,
  );
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
  return {
    kind: 'struct',
    goType: 'map[string]interface {}',
    schema: '',
    fields: new Map(isEmbedded ? [...own, ...metaFields(schemaOf('meta.v1.ObjectMeta'))] : own),
    atomic: schema['x-kubernetes-map-type'] === 'atomic',
    ...(schema['x-kubernetes-preserve-unknown-fields'] === true ? { preserveUnknownFields: true } : {}),
  };
}

function field(name: string, type: Type, required: boolean, value?: unknown): Field {
  const isScalar = ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
  return {
    name,
    type,
    required,
    held: 'pointer',
    omit: 'empty',
    ...(isScalar ? { default: value as string | number | boolean } : {}),
    patchStrategies: [],
    patchMergeKey: undefined,
  };
}

function typeOf(schema: JsonSchema): Type {
  if (schema['x-kubernetes-int-or-string'] === true) return ANY_SCALAR;
  switch (schema.type) {
    case 'object':
      return objectType(schema);
    case 'array':
      return listType(schema);
    case 'string':
      return isPlainText(schema.format) ? STRING : ANY_SCALAR;
    case 'boolean':
      return { kind: 'scalar', scalar: 'boolean', goType: 'bool' };
    case 'integer':
      return { kind: 'scalar', scalar: 'int64', goType: 'int64' };
    case 'number':
      return { kind: 'scalar', scalar: 'double', goType: 'float64' };
    default:
      return DEDUCED;
  }
}

/** For strings with another format, server-side apply accepts any scalar; the schema checks that it is a string. */
function isPlainText(format: string | undefined): boolean {
  return format === undefined || format === '' || format === 'byte';
}

function objectType(schema: JsonSchema): Type {
  const { additionalProperties, properties } = schema;
  const atomic = schema['x-kubernetes-map-type'] === 'atomic';
  if (additionalProperties !== undefined && additionalProperties !== false) {
    const values = valuesOf(schema);
    return { kind: 'map', goType: '', values: values === undefined ? DEDUCED : typeOf(values), atomic };
  }
  const isBare = properties === undefined || Object.keys(properties).length === 0;
  if (isBare && schema['x-kubernetes-embedded-resource'] !== true) {
    return atomic ? { kind: 'map', goType: '', values: DEDUCED, atomic } : DEDUCED;
  }
  return structType(schema);
}

function listType(schema: JsonSchema): ListType {
  const items = itemsOf(schema);
  const type = schema['x-kubernetes-list-type'];
  return {
    kind: 'list',
    goType: '',
    items: items === undefined ? DEDUCED : typeOf(items),
    listType: type === 'map' || type === 'set' ? type : 'atomic',
    keys: schema['x-kubernetes-list-map-keys'] ?? [],
  };
}
