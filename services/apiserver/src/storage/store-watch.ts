import type { WatchedEvent, WatchItem } from '@gantry/etcd';
import { resourceRootOf } from './keys.ts';
import type { StoreEvent, StoreWatchItem } from './object-store.ts';
import type { Sealing } from './sealing.ts';
import { versionOf } from './resource-version.ts';
import { readStored } from './stored-object.ts';

/** An etcd item in the store's terms. Revisions are whole in it, so deletions can be numbered. */
export function toStoreItem(item: WatchItem, sealing: Sealing): StoreWatchItem {
  if (item.kind !== 'events') return item;
  return { kind: 'events', events: toStoreEvents(item.events, sealing), revision: item.revision };
}

/** A deletion's index is one more than that of its resource's preceding event in its revision. */
function toStoreEvents(events: readonly WatchedEvent[], sealing: Sealing): readonly StoreEvent[] {
  let revision = 0;
  const lastIndex = new Map<string, number>();
  return events.map((event): StoreEvent => {
    const at = event.kind === 'put' ? event.kv.modRevision : event.modRevision;
    if (at !== revision) {
      revision = at;
      lastIndex.clear();
    }
    if (event.kind === 'delete') {
      const root = resourceRootOf(event.key);
      const index = (lastIndex.get(root) ?? -1) + 1;
      lastIndex.set(root, index);
      return { kind: 'delete', key: event.key, resourceVersion: versionOf(at, index) };
    }
    const stored = readStored(event.kv, sealing);
    lastIndex.set(resourceRootOf(stored.key), stored.resourceVersion - versionOf(at, 0));
    return { kind: 'put', ...stored, created: event.kv.createRevision === at };
  });
}
