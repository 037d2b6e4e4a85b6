import { formatTime, type Instant } from '@gantry/base';
import { settleShape } from '../decode/settle-shape.ts';
import type { ManagedFieldsEntry } from '../generated/types.ts';
import type { KubeObject } from '../object.ts';
import { schemaNameOf, schemaOf, type SchemaRef, type StructType } from '../schema/type-schema.ts';
import { capManagers, type Manager } from './cap-managers.ts';
import { type Comparison, compareFields, KeylessItem } from './compare.ts';
import { FieldSet, type FieldsV1 } from './field-set.ts';

export interface ManagedFieldsInput {
  /** What is stored; undefined for a create. */
  readonly oldObject: KubeObject | undefined;
  /** The object after decoding and defaults, before admission and the strategy's `prepareFor…`: what those set is nobody's. */
  readonly newObject: KubeObject;
  readonly manager: string;
  readonly operation: 'Update';
  readonly apiVersion: string;
  /** '' for the object itself. */
  readonly subresource: string;
  readonly schema: SchemaRef;
  readonly now: Instant;
}

/** Paths that nobody owns. */
const UNOWNED: readonly (readonly string[])[] = [
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata'],
  ['f:metadata', 'f:name'],
  ['f:metadata', 'f:namespace'],
  ['f:metadata', 'f:creationTimestamp'],
  ['f:metadata', 'f:selfLink'],
  ['f:metadata', 'f:uid'],
  ['f:metadata', 'f:clusterName'],
  ['f:metadata', 'f:generation'],
  ['f:metadata', 'f:managedFields'],
  ['f:metadata', 'f:resourceVersion'],
];

/**
 * The managedFields of an object after a create, update or patch: what the write adds or changes goes to its manager, from
 * whoever had it; what it removes is nobody's any more. The time of an entry moves only when its manager took something.
 * Neither object is changed. Sorted as Kubernetes sorts them; empty when nobody owns anything, and for objects with list
 * items that cannot be told apart.
 */
export function updateManagedFields(input: ManagedFieldsInput): ManagedFieldsEntry[] {
  const { oldObject, newObject, schema } = input;
  const type = schemaOf(schema);
  const before = oldObject === undefined ? emptyObject(schema) : withoutManagedFields(oldObject);
  const compared = tryCompare(type, before, withoutManagedFields(newObject));
  if (compared === undefined) return [];
  const comparison = exceptReset(compared, input);
  const changed = comparison.added.union(comparison.modified);
  const taken = strip(changed);
  const managers = decodeManagers(startingEntries(input)).map((manager) => ({
    ...manager,
    fields: manager.fields.difference(changed).difference(comparison.removed),
  }));
  const kept = taken.empty ? managers : give(managers, taken, input);
  return capManagers(kept.filter((manager) => !manager.fields.empty))
    .map(encodeManager)
    .sort(compareEntries);
}

function tryCompare(type: StructType, before: object, after: object): Comparison | undefined {
  try {
    return compareFields(type, before, after);
  } catch (error) {
    if (error instanceof KeylessItem) return undefined;
    throw error;
  }
}

function withoutManagedFields(object: KubeObject): KubeObject {
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _managedFields, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Kinds whose writes reset more than the status. A request for a certificate is nobody's to change. */
const RESET: Readonly<Record<string, readonly string[]>> = {
  'certificates.v1.CertificateSigningRequest': ['f:spec', 'f:status'],
};

/** A write of the object leaves its status alone, one of the status its spec: Kubernetes resets those fields. */
function exceptReset(comparison: Comparison, { subresource, schema }: ManagedFieldsInput): Comparison {
  const reset =
    subresource === '' ? (RESET[schemaNameOf(schema)] ?? ['f:status']) : subresource === 'status' ? ['f:spec'] : [];
  const without = (fields: FieldSet) => reset.reduce((set, element) => set.without([element]), fields);
  return {
    added: without(comparison.added),
    modified: without(comparison.modified),
    removed: without(comparison.removed),
  };
}

const unowned = new FieldSet();
for (const path of UNOWNED) unowned.insert(path);

function strip(fields: FieldSet): FieldSet {
  return fields.difference(unowned);
}

const emptyObjects = new Map<SchemaRef, object>();

/** What a new object is compared with: one of its kind with nothing in it. */
function emptyObject(schema: SchemaRef): object {
  let empty = emptyObjects.get(schema);
  if (empty === undefined) {
    empty = settleShape({}, schema);
    emptyObjects.set(schema, empty);
  }
  return empty;
}

/** Entries that the request sends count where it may send them: one empty entry resets, none keeps what is stored. */
function startingEntries({ oldObject, newObject, subresource }: ManagedFieldsInput): readonly ManagedFieldsEntry[] {
  const stored = oldObject?.metadata.managedFields ?? [];
  const sent = newObject.metadata.managedFields ?? [];
  if (subresource !== '' || sent.length === 0) return stored;
  const [only] = sent;
  if (sent.length === 1 && only !== undefined && Object.keys(only).length === 0) return [];
  return sent.every(isUsable) ? sent : stored;
}

function isUsable(entry: ManagedFieldsEntry): boolean {
  return (
    (entry.operation === 'Update' || entry.operation === 'Apply') &&
    entry.fieldsType === 'FieldsV1' &&
    entry.fieldsV1 !== undefined
  );
}

function decodeManagers(entries: readonly ManagedFieldsEntry[]): Manager[] {
  return entries.map((entry) => {
    const fields = FieldSet.fromJson((entry.fieldsV1 ?? {}) as FieldsV1);
    return { ...decodeManager(entry), fields, read: { entry, fields } };
  });
}

function decodeManager(entry: ManagedFieldsEntry): Omit<Manager, 'fields'> {
  return {
    manager: entry.manager ?? '',
    operation: entry.operation === 'Apply' ? 'Apply' : 'Update',
    apiVersion: entry.apiVersion ?? '',
    subresource: entry.subresource ?? '',
    time: entry.time,
  };
}

function give(managers: readonly Manager[], taken: FieldSet, input: ManagedFieldsInput): Manager[] {
  const { manager, operation, apiVersion, subresource, now } = input;
  const isSelf = (other: Manager) =>
    other.manager === manager &&
    other.operation === operation &&
    other.apiVersion === apiVersion &&
    other.subresource === subresource;
  const own = managers.find(isSelf);
  const fields = own === undefined ? taken : own.fields.union(taken);
  const self: Manager = { manager, operation, apiVersion, subresource, time: formatTime(now), fields };
  return [...managers.filter((other) => !isSelf(other)), self];
}

function encodeManager(of: Manager): ManagedFieldsEntry {
  const { manager, operation, apiVersion, subresource, time, fields, read } = of;
  if (read !== undefined && read.fields === fields && read.entry.time === time) return read.entry;
  return {
    ...(manager === '' ? {} : { manager }),
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: fields.toJson(),
    ...(subresource === '' ? {} : { subresource }),
  };
}

function compareEntries(a: ManagedFieldsEntry, b: ManagedFieldsEntry): number {
  const keys = (entry: ManagedFieldsEntry) => [
    entry.operation ?? '',
    entry.time ?? '',
    entry.manager ?? '',
    entry.apiVersion ?? '',
    entry.subresource ?? '',
  ];
  const left = keys(a);
  const right = keys(b);
  const index = left.findIndex((key, at) => key !== right[at]);
  if (index < 0) return 0;
  return (left[index] ?? '') < (right[index] ?? '') ? -1 : 1;
}

/** At most this many bytes of a manager's name are kept. */
const MAX_MANAGER_BYTES = 128;

/** Who a write is by: its `fieldManager`, else what the User-Agent begins with, else `unknown`. */
export function fieldManagerFrom(fieldManager: string, userAgent: string): string {
  if (fieldManager !== '') return fieldManager;
  const name = userAgent.split('/')[0] ?? '';
  let out = '';
  for (const character of name) {
    if (Buffer.byteLength(out + character) > MAX_MANAGER_BYTES) break;
    if (!/\p{C}/u.test(character)) out += character;
  }
  return out === '' ? 'unknown' : out;
}
