import { carryGivenEmpty } from '../values/given-empty.ts';
import { normaliseShape } from '../values/normalise-shape.ts';
import { apiVersionOf, type KubeObject } from '@gantry/objects';
import type { ResetFields, ResourceDefinition } from '../resource-definition.ts';
import { schemaOf, type SchemaRef, type StructType } from '../schema/type-schema.ts';
import { FieldSet } from './field-set.ts';

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
  return { group, version, kind, schema, subresource, reset, inVersion };
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

/** Returns the fields that a write can change, which it may own. The hooks of the kind reset the values of the others. */
type FieldFilter = (fields: FieldSet) => FieldSet;

const keepAll: FieldFilter = (fields) => fields;

/** Resets metadata and spec: what a status cannot change that is checked as strictly as Kubernetes' newer kinds are. */
export const METADATA_AND_SPEC: ResetFields = { drop: [['metadata'], ['spec']] };
const SPEC: ResetFields = { drop: [['spec']] };
const STATUS: ResetFields = { drop: [['status']] };

/** One filter for each declaration: a filter is a set of paths, and every write needs one. */
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
