import { AssertionError } from '@gantry/base';
import { goFieldOf, type PublishedSchema, publishedSchemas } from './published-schema.ts';

/** Leaf types with their own decoding rules. */
export type ScalarKind =
  | 'string'
  | 'bytes'
  | 'boolean'
  | 'int32'
  | 'int64'
  | 'double'
  | 'time'
  | 'microTime'
  | 'quantity'
  | 'intOrString';

/** The type of a value. `any` values are kept unchanged (RawExtension, FieldsV1). */
export type Type =
  | { readonly kind: 'scalar'; readonly scalar: ScalarKind; readonly goType: string }
  | AnyType
  | StructType
  | ListType
  | MapType;

/** A value that is kept unchanged. */
export interface AnyType {
  readonly kind: 'any';
  readonly goType: string;
  /**
   * Whether server-side apply descends into the value, as in the schemaless part of a custom resource: maps field by field, lists and
   * leaves as a whole. Otherwise the value is one leaf.
   */
  readonly deduced?: boolean;
  /** The value is a JSON schema, which is decoded as one, or this alternative. */
  readonly schemaOr?: SchemaAlternative;
}

/** Alternatives to a schema: a boolean, a list of schemas, or a list of names. */
export type SchemaAlternative = 'boolean' | 'schemas' | 'names';

export interface StructType {
  readonly kind: 'struct';
  readonly goType: string;
  /** Short name of the schema; '' for a custom resource. Fields are resolved on first use, because schemas reference themselves. */
  readonly schema: string;
  readonly fields: ReadonlyMap<string, Field>;
  /** Owned and replaced as a whole by server-side apply. */
  readonly atomic: boolean;
  /** Whether fields outside the schema are kept; their type is deduced `any`. */
  readonly preserveUnknownFields?: boolean;
  /** For a whole custom resource: the codec that replaces the rules for published schemas. */
  readonly custom?: CustomCodec;
  /** For a type with its own codec: it supports strategic merge patches nevertheless, like all of Kubernetes' kinds. */
  readonly patches?: 'strategic';
}

/** Reads custom resources of one version. */
export interface CustomCodec {
  /** Returns what is kept of a request's object, and the paths of what is dropped. May change `object`. Throws DecodeError. */
  readonly read: (object: Record<string, unknown>) => {
    readonly value: Record<string, unknown>;
    readonly unknown: readonly string[];
  };
  /** The same for the result of server-side apply. Nulls that are not allowed stay, so that validation rejects them. */
  readonly readApplied: (object: Record<string, unknown>) => Record<string, unknown>;
  /** Returns what is kept of a stored object, even if it is invalid. May change `object`. */
  readonly readStored: (object: Record<string, unknown>) => Record<string, unknown>;
  /** Returns what is kept of an object that was converted from another version. May change `object`. */
  readonly convert: (object: Record<string, unknown>) => Record<string, unknown>;
}

/** A type: the short name of a published schema, or the type itself, because schemas of custom resources have no name. */
export type SchemaRef = string | StructType;

export interface ListType {
  readonly kind: 'list';
  readonly goType: string;
  readonly items: Type;
  readonly listType: 'map' | 'set' | 'atomic';
  /** For `map` lists: the fields that identify an item. */
  readonly keys: readonly string[];
}

export interface MapType {
  readonly kind: 'map';
  readonly goType: string;
  readonly values: Type;
  readonly atomic: boolean;
}

/** A field of a struct, and how Go encodes its empty value. */
export interface Field {
  readonly name: string;
  readonly type: Type;
  readonly required: boolean;
  /** `pointer` includes slices and maps: absent differs from zero. `value`: absent is the zero value. */
  readonly held: 'pointer' | 'value';
  /** When responses omit the field: `empty` (Go's omitempty), `zero` (omitzero), or never. */
  readonly omit: 'empty' | 'zero' | 'never';
  /** Present only if the schema's default differs from the zero value of its type. */
  readonly default?: string | number | boolean;
  /** Strategic merge patch. */
  readonly patchStrategies: readonly string[];
  readonly patchMergeKey: string | undefined;
}

const NAMED: Readonly<Record<string, ScalarKind>> = {
  'meta.v1.Time': 'time',
  'meta.v1.MicroTime': 'microTime',
  'resource.Quantity': 'quantity',
  'intstr.IntOrString': 'intOrString',
};

const SCHEMA_OR: Readonly<Record<string, SchemaAlternative>> = {
  'apiextensions.v1.JSONSchemaPropsOrBool': 'boolean',
  'apiextensions.v1.JSONSchemaPropsOrArray': 'schemas',
  'apiextensions.v1.JSONSchemaPropsOrStringArray': 'names',
};

const structs = new Map<string, StructType>();

/** The type of a schema (`apps.v1.Deployment`). Throws AssertionError for a name that does not exist. */
export function schemaOf(name: SchemaRef): StructType {
  if (typeof name !== 'string') return name;
  const known = structs.get(name);
  if (known !== undefined) return known;
  const published = publishedSchemas[name];
  if (published === undefined) throw new AssertionError(`no schema ${name}`);
  const struct = new LazyStruct(name, published);
  structs.set(name, struct);
  return struct;
}

/** The short name of a schema; '' for one without a name. */
export function schemaNameOf(ref: SchemaRef): string {
  return typeof ref === 'string' ? ref : ref.schema;
}

/** Whether a schema of this name exists. */
export function hasSchema(name: string): boolean {
  return name in publishedSchemas;
}

class LazyStruct implements StructType {
  readonly kind = 'struct';
  readonly schema: string;
  readonly goType: string;
  readonly atomic: boolean;
  readonly #published: PublishedSchema;
  #fields: ReadonlyMap<string, Field> | undefined;

  constructor(schema: string, published: PublishedSchema) {
    this.schema = schema;
    this.goType = schema.split('.').slice(-2).join('.');
    this.atomic = published['x-map-type'] === 'atomic';
    this.#published = published;
  }

  get fields(): ReadonlyMap<string, Field> {
    this.#fields ??= new Map(
      Object.entries(this.#published.properties ?? {}).map(([name, property]) => [
        name,
        fieldOf(this.schema, name, property, this.#published.required ?? []),
      ]),
    );
    return this.#fields;
  }
}

function fieldOf(schema: string, name: string, published: PublishedSchema, required: readonly string[]): Field {
  const [goType = '', ...options] = goFieldOf(schema, name).split(',');
  const type = typeOf(published, goType, schema.split('.').at(-2));
  const isDefault =
    published.default !== undefined && published.default !== null && typeof published.default !== 'object';
  const real = isDefault && published.default !== 0 && published.default !== '' && published.default !== false;
  const typeMeta = goType === '' && (name === 'apiVersion' || name === 'kind');
  return {
    name,
    type,
    required: required.includes(name),
    held: goType.startsWith('*') || type.kind === 'list' || type.kind === 'map' || isBytes(type) ? 'pointer' : 'value',
    omit: options.includes('omitzero') ? 'zero' : options.includes('omitempty') || typeMeta ? 'empty' : 'never',
    ...(real ? { default: published.default as string | number | boolean } : {}),
    patchStrategies: published['x-patch-strategy']?.split(',') ?? [],
    patchMergeKey: published['x-patch-merge-key'],
  };
}

function isBytes(type: Type): boolean {
  return type.kind === 'scalar' && type.scalar === 'bytes';
}

function typeOf(published: PublishedSchema, goType: string, goPackage = ''): Type {
  if (published.ref !== undefined) return referenced(published.ref, published, goType);
  switch (published.type) {
    case 'array':
      return {
        kind: 'list',
        goType,
        items: typeOf(published.items ?? {}, goType.replace(/^\*?\[\]/, ''), goPackage),
        listType: published['x-list-type'] ?? 'atomic',
        keys: published['x-list-map-keys'] ?? [],
      };
    case 'object':
      if (published.additionalProperties === undefined) return { kind: 'any', goType };
      return {
        kind: 'map',
        goType,
        values: typeOf(published.additionalProperties, goType.replace(/^map\[\w+\]/, ''), goPackage),
        atomic: published['x-map-type'] === 'atomic',
      };
    case 'boolean':
      return { kind: 'scalar', scalar: 'boolean', goType: 'bool' };
    case 'integer':
      return {
        kind: 'scalar',
        scalar: published.format === 'int64' ? 'int64' : 'int32',
        goType: published.format ?? 'int32',
      };
    case 'number':
      return { kind: 'scalar', scalar: 'double', goType: 'float64' };
    case 'string':
      if (published.format === 'byte') return { kind: 'scalar', scalar: 'bytes', goType: '[]uint8' };
      return { kind: 'scalar', scalar: 'string', goType: stringType(goType, goPackage) };
    default:
      return { kind: 'any', goType };
  }
}

/** Go's name of a string type: `v1.Protocol`, or `string`. */
function stringType(goType: string, goPackage: string): string {
  const bare = goType.replace(/^\*/, '');
  if (bare === '' || bare === 'string') return 'string';
  if (!bare.includes('.')) return `${goPackage}.${bare}`;
  return bare.replace(/^metav1[.]/, 'v1.');
}

function referenced(name: string, site: PublishedSchema, goType: string): Type {
  const scalar = NAMED[name];
  if (scalar !== undefined) return { kind: 'scalar', scalar, goType };
  const schemaOr = SCHEMA_OR[name];
  if (schemaOr !== undefined) return { kind: 'any', goType, schemaOr };
  const target = publishedSchemas[name];
  if (
    target === undefined ||
    (target.properties === undefined && name !== 'apiextensions.v1.CustomResourceSubresourceStatus')
  )
    return { kind: 'any', goType };
  const struct = schemaOf(name);
  if (site['x-map-type'] === 'atomic' && !struct.atomic) {
    return {
      kind: 'struct',
      goType: struct.goType,
      schema: struct.schema,
      atomic: true,
      get fields() {
        return struct.fields;
      },
    };
  }
  return struct;
}
