import type { ManagedFieldsEntry } from '../generated/types.ts';
import type { FieldSet } from './field-set.ts';

/** One entry of managedFields, its fields as a set. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string | undefined;
  readonly fields: FieldSet;
  /** What the entry was read from: written again as it is while its fields are these. */
  readonly read?: { readonly entry: ManagedFieldsEntry; readonly fields: FieldSet };
}

/** More managers by update than this are not told apart. */
const MAX_UPDATE_MANAGERS = 10;
const BUCKET = 'ancient-changes';

/** Merges the oldest managers by update into one `ancient-changes` per version until at most ten are left. */
export function capManagers(managers: readonly Manager[]): Manager[] {
  const updaters = managers.filter((manager) => manager.operation === 'Update').sort(byAge);
  const tooMany = updaters.length - MAX_UPDATE_MANAGERS;
  if (tooMany <= 0) return [...managers];
  const merged = new Set<Manager>();
  const buckets = new Map<string, Manager>();
  let left = tooMany;
  for (const updater of updaters) {
    if (left <= 0) break;
    const bucket = buckets.get(updater.apiVersion);
    buckets.set(updater.apiVersion, {
      ...updater,
      ...(bucket === undefined
        ? {}
        : { manager: BUCKET, subresource: '', fields: updater.fields.union(bucket.fields) }),
    });
    merged.add(updater);
    if (bucket !== undefined) left--;
  }
  return [...managers.filter((manager) => !merged.has(manager)), ...buckets.values()];
}

function byAge(a: Manager, b: Manager): number {
  const left = `${a.time ?? ''} ${a.manager}`;
  const right = `${b.time ?? ''} ${b.manager}`;
  return left < right ? -1 : left > right ? 1 : 0;
}
