import type { KubeObject } from '@gantry/objects';
import type { StructType } from '../schema/type-schema.ts';
import { type FieldSet } from './field-set.ts';
import { typeOf, type ManagedKind, versionOf } from './managed-kind.ts';
import type { Manager, Managers } from './managers.ts';
import { removeItems } from './remove-items.ts';
import { toFieldSet, withNamedFields } from './to-field-set.ts';

/**
 * The merged object without fields that the applier owned in `last`, no longer applies, and that have no other owner. `managers` is the
 * state after the apply. Throws KeylessItem.
 */
export function pruneApplied(
  of: ManagedKind,
  merged: KubeObject,
  managers: Managers,
  last: Manager | undefined,
): KubeObject {
  if (last === undefined || last.fields.empty) return merged;
  const version = versionOf(of, last.apiVersion);
  if (version === undefined) return merged;
  const type = typeOf(version);
  const whole = version.to(merged);
  const named = withNamedFields(last.fields, type);
  const bare = remove(type, whole, named);
  const kept = addBackOwned(of, { whole, bare, apiVersion: last.apiVersion }, managers);
  // Restores fields that were removed together with their container but were not the applier's.
  const gone = fieldsOf(type, whole).difference(fieldsOf(type, kept));
  return version.from(remove(type, whole, gone.intersection(named)));
}

function fieldsOf(type: StructType, object: KubeObject): FieldSet {
  return withNamedFields(toFieldSet(type, object), type);
}

function remove(type: StructType, object: KubeObject, fields: FieldSet): KubeObject {
  return fields.empty ? object : ((removeItems(type, object, fields) ?? {}) as KubeObject);
}

/** Adds back owned fields, version by version, starting with the version of the applier's last apply. The result is in that version. */
function addBackOwned(
  of: ManagedKind,
  pruned: { readonly whole: KubeObject; readonly bare: KubeObject; readonly apiVersion: string },
  managers: Managers,
): KubeObject {
  const owned = new Map<string, FieldSet>();
  for (const { apiVersion, fields } of managers.values())
    owned.set(apiVersion, owned.get(apiVersion)?.union(fields) ?? fields);
  const first = pruned.apiVersion;
  const origin = versionOf(of, first);
  let { bare } = pruned;
  const rest = [...owned.keys()].filter((apiVersion) => apiVersion !== first);
  for (const apiVersion of [first, ...rest]) {
    const fields = owned.get(apiVersion);
    const version = versionOf(of, apiVersion);
    if (fields === undefined || version === undefined || origin === undefined) continue;
    const type = typeOf(version);
    const inVersion = (object: KubeObject) => (apiVersion === first ? object : version.to(origin.from(object)));
    const whole = inVersion(pruned.whole);
    const kept = fieldsOf(type, inVersion(bare)).union(withNamedFields(fields, type));
    const left = remove(type, whole, fieldsOf(type, whole).difference(kept));
    bare = apiVersion === first ? left : origin.to(version.from(left));
  }
  return bare;
}
