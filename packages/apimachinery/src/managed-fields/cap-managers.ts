import { FieldSet } from './field-set.ts';
import { identify, type Manager, type Managers } from './managers.ts';

/** More managers by update than this are not told apart. */
const MAX_UPDATE_MANAGERS = 10;
const BUCKET = 'ancient-changes';

/** Merges the oldest managers by update into one `ancient-changes` per version until at most ten are left. */
export function capManagers(managers: Managers): Managers {
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
  // At once: one after another, each would copy all before it.
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
