import type { KubeObject } from '@gantry/objects';
import { compareFields, type Comparison } from './compare.ts';
import { FieldSet } from './field-set.ts';
import { type ManagedKind, type OtherVersion, typeOf, versionOf } from './managed-kind.ts';
import type { Manager, Managers } from './managers.ts';
import { schemaOf, type SchemaRef, type Type } from '../schema/type-schema.ts';
import { memberType } from './shape.ts';

/** Paths without an owner. */
const UNOWNED = FieldSet.of(
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
);

/** Fields that can have an owner. */
export function ownable(fields: FieldSet): FieldSet {
  return fields.difference(UNOWNED);
}

/** A path that a change would take from another manager. */
export interface Conflict {
  /** `identify` of the manager. */
  readonly id: string;
  readonly manager: Manager;
  readonly path: readonly string[];
}

/** A change, and its effect on other managers. */
export interface Change {
  readonly comparison: Comparison;
  /** The other managers without the fields that the change takes or removes. Managers without remaining fields are left out. */
  readonly others: Managers;
  readonly conflicts: readonly Conflict[];
}

/** A comparison with the union of changed and added fields, which is the same for every manager. */
interface Compared extends Comparison {
  readonly changed: FieldSet;
}

/** The managers whose version is served, with their fields adapted to the current schemas. */
export function knownManagers(of: ManagedKind, managers: Managers): Map<string, Manager> {
  const out = new Map<string, Manager>();
  for (const [id, manager] of managers) {
    const version = versionOf(of, manager.apiVersion);
    if (version === undefined) continue;
    const fields = reconcileFields(manager.fields, version.schema);
    out.set(id, fields === manager.fields ? manager : { ...manager, fields });
  }
  return out;
}

/** Compares two objects of a kind. Determines which fields the managers other than `self` lose. Throws KeylessItem. */
export function changeOwners(
  of: ManagedKind,
  change: { readonly before: KubeObject; readonly after: KubeObject },
  managers: Managers,
  self: string | undefined,
): Change {
  const { before, after } = change;
  const compareIn = (version: OtherVersion): Comparison => {
    const { added, modified, removed } = compareFields(typeOf(version), version.to(before), version.to(after));
    return { added: of.reset(added), modified: of.reset(modified), removed: of.reset(removed) };
  };
  const comparison = compareIn({ schema: of.schema, to: (object) => object, from: (object) => object });
  const inVersions = new Map<string, Compared>();
  const compared = (one: Comparison): Compared => ({ ...one, changed: one.modified.union(one.added) });
  const inOwn = compared(comparison);
  const others = new Map<string, Manager>();
  const conflicts: Conflict[] = [];
  for (const [id, manager] of [...managers].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (id === self) continue;
    const version = versionOf(of, manager.apiVersion);
    if (version === undefined) continue;
    let change = version.schema === of.schema ? inOwn : inVersions.get(manager.apiVersion);
    if (change === undefined) {
      change = compared(compareIn(version));
      inVersions.set(manager.apiVersion, change);
    }
    const { fields } = manager;
    const { changed, removed } = change;
    const taken = changed.empty ? changed : fields.intersection(changed);
    for (const path of taken.paths()) conflicts.push({ id, manager, path });
    const left = fields.difference(taken).difference(removed);
    if (left === fields) others.set(id, manager);
    else if (!left.empty) others.set(id, { ...manager, fields: left });
  }
  return { comparison, others, conflicts };
}

/**
 * Adapts a set of fields to the current schema: fields inside a part that has become atomic are replaced by that part. Returns the same set
 * if nothing changes. Named schemas never change.
 */
function reconcileFields(fields: FieldSet, schema: SchemaRef): FieldSet {
  if (typeof schema === 'string') return fields;
  const atomic = new FieldSet();
  collectAtomic(atomic, [], schemaOf(schema), fields);
  if (atomic.empty) return fields;
  return fields.recursiveDifference(atomic).union(atomic);
}

function collectAtomic(atomic: FieldSet, path: readonly string[], type: Type, below: FieldSet): void {
  const isAtomic = type.kind === 'list' ? type.listType === 'atomic' : 'atomic' in type && type.atomic;
  if (isAtomic && path.length > 0) {
    atomic.insert(path);
    return;
  }
  for (const element of below.elements()) {
    const deeper = below.below(element);
    const inner = innerType(type, element);
    if (deeper !== undefined && !deeper.empty && inner !== undefined)
      collectAtomic(atomic, [...path, element], inner, deeper);
  }
}

function innerType(type: Type, element: string): Type | undefined {
  if (type.kind === 'list') return type.items;
  if (type.kind !== 'struct' && type.kind !== 'map') return undefined;
  return element.startsWith('f:') ? memberType(type, element.slice(2)) : undefined;
}
