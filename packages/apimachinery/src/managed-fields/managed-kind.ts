import { carryGivenEmpty } from '../values/given-empty.ts';
import { normaliseShape } from '../values/normalise-shape.ts';
import { apiVersionOf, type KubeObject } from '@gantry/objects';
import type { ResetFields, ResourceDefinition } from '../resource-definition.ts';
import { schemaOf, type SchemaRef, type StructType } from '../schema/type-schema.ts';
import { FieldSet } from './field-set.ts';

/** Another version of a kind, with conversions to and from it. Results may share parts with the arguments. */
export interface OtherVersion {
  readonly schema: SchemaRef;
  readonly to: (object: KubeObject) => KubeObject;
  readonly from: (object: KubeObject) => KubeObject;
}

/** The version of a kind that a write uses, and its subresource. */
export interface ManagedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly schema: SchemaRef;
  /** '' for the object itself. */
  readonly subresource: string;
  /** Selects the changed fields that get an owner. */
  readonly reset: FieldFilter;
  /** Returns the version for an apiVersion; undefined if it is not served. Fields managed in such a version lose their owner. */
  readonly inVersion?: (apiVersion: string) => OtherVersion | undefined;
}

/** The managed kind for writes of a resource. */
export function managedKindOf(
  definition: ResourceDefinition,
  subresource: string,
  inVersion?: ManagedKind['inVersion'],
): ManagedKind {
  const { group, version, kind, schema } = definition;
  const reset = resetFilterOf(definition, subresource);
  return { group, version, kind, schema, subresource, reset, inVersion };
}

const SAME = (object: KubeObject) => object;

/** The version in which an entry names its fields. */
export function versionOf(of: ManagedKind, apiVersion: string): OtherVersion | undefined {
  if (apiVersion === apiVersionOf(of)) return { schema: of.schema, to: SAME, from: SAME };
  return of.inVersion?.(apiVersion);
}

export function typeOf(of: { readonly schema: SchemaRef }): StructType {
  return schemaOf(of.schema);
}

const emptyObjects = new Map<SchemaRef, KubeObject>();

/** An empty object of the kind: the base for comparing or applying a new object. */
export function emptyObject(schema: SchemaRef): KubeObject {
  const known = emptyObjects.get(schema);
  if (known !== undefined) return known;
  const empty = normaliseShape({}, schema) as KubeObject;
  // Schemas without a name can change, so they are not cached.
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

/** Returns the fields that a write can change and may own. The kind's hooks reset the values of the others. */
type FieldFilter = (fields: FieldSet) => FieldSet;

const keepAll: FieldFilter = (fields) => fields;

/** Resets metadata and spec. For status updates of kinds that are checked as strictly as Kubernetes' newer kinds. */
export const METADATA_AND_SPEC: ResetFields = { drop: [['metadata'], ['spec']] };
const SPEC: ResetFields = { drop: [['spec']] };
const STATUS: ResetFields = { drop: [['status']] };

/** Caches one filter per declaration: building the path set costs time, and every write needs a filter. */
const filters = new WeakMap<ResetFields, FieldFilter>();

function filterOf(reset: ResetFields): FieldFilter {
  const known = filters.get(reset);
  if (known !== undefined) return known;
  const filter = 'drop' in reset ? dropping(reset.drop) : keeping(reset.keep);
  filters.set(reset, filter);
  return filter;
}

function dropping(paths: readonly (readonly string[])[]): FieldFilter {
  const dropped = FieldSet.of(...paths.map((path) => path.map((field) => `f:${field}`)));
  return (fields) => fields.recursiveDifference(dropped);
}

function keeping(patterns: readonly (readonly string[])[]): FieldFilter {
  const kept = patterns.map((pattern) => pattern.map((field) => (field === '*' ? field : `f:${field}`)));
  return (fields) => fields.under(kept);
}

/** The filter of writes to a resource, or through one of its subresources ('' for none). */
function resetFilterOf({ schema, strategy, subresources }: ResourceDefinition, subresource: string): FieldFilter {
  if (subresource === '') {
    const usual = subresources.some(({ name }) => name === 'status') ? STATUS : undefined;
    const reset = strategy.resetFields ?? usual;
    return reset === undefined ? keepAll : filterOf(reset);
  }
  const own = subresources.find(({ name }) => name === subresource)?.resetFields;
  if (own !== undefined) return filterOf(own);
  if (subresource !== 'status') return keepAll;
  return filterOf(typeof schema === 'string' ? SPEC : METADATA_AND_SPEC);
}
