import { carryGivenEmpty } from '../values/given-empty.ts';
import { normaliseShape } from '../values/normalise-shape.ts';
import { type KubeObject, apiVersionOf } from '@gantry/objects';
import { type ResourceDefinition } from '../resource-definition.ts';
import { schemaOf, type SchemaRef, type StructType } from '../schema/type-schema.ts';
import { type FieldFilter, resetFilterOf } from './reset-fields.ts';

/** Another version of a kind: how objects get there and back. Both give objects that may be shared with what they get. */
export interface OtherVersion {
  readonly schema: SchemaRef;
  readonly to: (object: KubeObject) => KubeObject;
  readonly from: (object: KubeObject) => KubeObject;
}

/** The version of a kind that a write is in, and the part of the API that it comes through. */
export interface ManagedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly schema: SchemaRef;
  /** '' for the object itself. */
  readonly subresource: string;
  /** What of the changed fields counts. */
  readonly reset: FieldFilter;
  /** The version of that apiVersion; undefined if it is not served. Fields managed in such a version lose their owner. */
  readonly inVersion?: (apiVersion: string) => OtherVersion | undefined;
}

/** What writes of a resource are recorded by. */
export function managedKindOf(
  definition: ResourceDefinition,
  subresource: string,
  inVersion?: ManagedKind['inVersion'],
): ManagedKind {
  const { group, version, kind, schema } = definition;
  const reset = resetFilterOf(definition, subresource);
  return { group, version, kind, schema, subresource, reset, ...(inVersion === undefined ? {} : { inVersion }) };
}

const SAME = (object: KubeObject) => object;

/** The version in which fields of an entry are named. */
export function versionOf(of: ManagedKind, apiVersion: string): OtherVersion | undefined {
  if (apiVersion === apiVersionOf(of)) return { schema: of.schema, to: SAME, from: SAME };
  return of.inVersion?.(apiVersion);
}

export function typeOf(of: { readonly schema: SchemaRef }): StructType {
  return schemaOf(of.schema);
}

const emptyObjects = new Map<SchemaRef, KubeObject>();

/** What a new object is compared with and applied to: one of its kind with nothing in it. */
export function emptyObject(schema: SchemaRef): KubeObject {
  const known = emptyObjects.get(schema);
  if (known !== undefined) return known;
  const empty = normaliseShape({}, schema) as KubeObject;
  // Schemas without a name come and go.
  if (typeof schema === 'string') emptyObjects.set(schema, empty);
  return empty;
}

/** The object without its managedFields, the rest shared. */
export function withoutManagedFields(object: KubeObject): KubeObject {
  if (object.metadata?.managedFields === undefined) return object;
  const { managedFields: _managedFields, ...metadata } = object.metadata;
  const without = { ...object, metadata };
  carryGivenEmpty(object, without);
  return without;
}
