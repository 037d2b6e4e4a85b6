import { formatTime, type Instant } from '@gantry/base';
import { apiVersionOf, equalJson, type KubeObject, type ManagedFieldsEntry } from '@gantry/objects';
import { changeOwners, knownManagers, ownable } from './change-owners.ts';
import { emptyObject, type ManagedKind, withoutManagedFields } from './managed-kind.ts';
import { identify, type Manager, type Managers, parseManagers, readManagers, writeManagers } from './managers.ts';
import { KeylessItem } from './shape.ts';
import { FieldSet } from './field-set.ts';

export interface ManagedFieldsInput {
  readonly of: ManagedKind;
  /** The stored object; undefined for a create. */
  readonly oldObject: KubeObject | undefined;
  /** The object after decoding and defaults, before admission and the strategy's `prepareFor…`. Fields that those set get no owner. */
  readonly newObject: KubeObject;
  readonly manager: string;
  readonly now: Instant;
}

/**
 * The managedFields of an object after a create, update or patch. The manager becomes the only owner of fields that the write adds or
 * changes; removed fields lose their owners. An entry's time changes only when its manager gains fields. Does not change its arguments. The
 * result is in Kubernetes' order. It is empty when no field has an owner, when list items have no keys, and for stored objects without
 * recorded owners.
 */
export function updateManagedFields(input: ManagedFieldsInput): ManagedFieldsEntry[] {
  const { of, oldObject, newObject, manager, now } = input;
  const starting = startingManagers(input);
  if (starting.size === 0 && (oldObject?.metadata.uid ?? '') !== '') return [];
  const before = oldObject === undefined ? emptyObject(of.schema) : withoutManagedFields(oldObject);
  try {
    const change = { before, after: withoutManagedFields(newObject) };
    return writeManagers(capManagers(recordUpdate(of, change, starting, { manager, now })).values());
  } catch (error) {
    // Kubernetes records no owners for an object with list items that have no key.
    if (error instanceof KeylessItem) return [];
    throw error;
  }
}

/** The managers after an update from `before` to `after`. Throws KeylessItem. */
export function recordUpdate(
  of: ManagedKind,
  change: { readonly before: KubeObject; readonly after: KubeObject },
  managers: Managers,
  by: { readonly manager: string; readonly now: Instant },
): Managers {
  const { comparison, others } = changeOwners(of, change, knownManagers(of, managers), undefined);
  const taken = ownable(comparison.added.union(comparison.modified));
  if (taken.empty) return others;
  const self = {
    manager: by.manager,
    operation: 'Update',
    apiVersion: apiVersionOf(of),
    subresource: of.subresource,
    time: formatTime(by.now),
  } as const;
  const id = identify(self);
  const own: Manager | undefined = others.get(id);
  return new Map([...others, [id, { ...self, fields: own === undefined ? taken : own.fields.union(taken) }]]);
}

/**
 * The entries to start with. Those of the request count where it may send them: no entries or one empty entry reset ownership; invalid
 * entries are ignored.
 */
function startingManagers({ of, oldObject, newObject }: ManagedFieldsInput): Managers {
  const stored = oldObject?.metadata.managedFields ?? [];
  const sent = newObject.metadata.managedFields;
  // Unchanged entries need no parsing.
  if (of.subresource !== '' || sent === undefined || sent === stored) return readManagers(stored);
  if (sent.length === 0) return new Map();
  const [only] = sent;
  if (sent.length === 1 && only !== undefined && Object.keys(only).length === 0) return new Map();
  // Most clients send back what they have read.
  if (equalJson(sent, stored)) return readManagers(stored);
  try {
    return parseManagers(sent);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return readManagers(stored);
    throw error;
  }
}

/** The maximum number of separate managers by update. */
const MAX_UPDATE_MANAGERS = 10;
const BUCKET = 'ancient-changes';

/** Merges the oldest managers by update into one `ancient-changes` per version until at most ten are left. */
function capManagers(managers: Managers): Managers {
  const updaters = [...managers].filter(([, { operation }]) => operation === 'Update');
  let left = updaters.length;
  if (left <= MAX_UPDATE_MANAGERS) return managers;
  const out = new Map(managers);
  const firstOf = new Map<string, string>();
  const buckets = new Map<string, FieldSet[]>();
  for (const [id, updater] of updaters.sort(byAge)) {
    if (left <= MAX_UPDATE_MANAGERS) break;
    const first = firstOf.get(updater.apiVersion);
    if (first === undefined) {
      firstOf.set(updater.apiVersion, id);
      continue;
    }
    const merged = { ...updater, manager: BUCKET, subresource: '' };
    const bucket = identify(merged);
    const into = out.get(bucket) ?? out.get(first);
    if (!out.has(bucket)) out.delete(first);
    out.delete(id);
    const parts = buckets.get(bucket) ?? (into === undefined ? [] : [into.fields]);
    parts.push(updater.fields);
    buckets.set(bucket, parts);
    out.set(bucket, merged);
    left--;
  }
  // All in one step: one after the other, each step would copy the previous result.
  for (const [bucket, parts] of buckets) {
    const manager = out.get(bucket);
    if (manager !== undefined) out.set(bucket, { ...manager, fields: FieldSet.unionOf(parts) });
  }
  return out;
}

function byAge([id, a]: [string, Manager], [otherId, b]: [string, Manager]): number {
  const left = a.time ?? '';
  const right = b.time ?? '';
  if (left !== right) return left < right ? -1 : 1;
  return id < otherId ? -1 : 1;
}
