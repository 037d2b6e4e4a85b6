import type { ResourceDefinition } from '@gantry/apimachinery';
import type { KubeObject } from '@gantry/objects';
import { type Entry, type Filter, objectKey, type ResourceCache, type Watcher } from '../../cache/index.ts';
import type { ObjectResponse, WatchItem } from '../../cache/object-response.ts';

/** The filter for stored objects if a webhook converts: all objects of the namespace. The other conditions apply after the conversion. */
export function storedFilter({ namespace, key, matches: _matches }: Filter): Filter {
  const inNamespace = (object: KubeObject) => namespace === '' || object.metadata.namespace === namespace;
  return { namespace, selectsAll: key === undefined, matches: inNamespace, key };
}

/**
 * Converts the items of a watch of stored objects to another version. `show` calls the conversion webhook; when it fails, the watch fails.
 * ADDED and DELETED depend on whether the object was sent before.
 */
export async function* convertedWatch(
  watcher: Watcher,
  of: {
    readonly definition: ResourceDefinition;
    readonly resource: ResourceCache;
    readonly filter: Filter;
    /** Whether the watch starts with all existing objects. Then the set of visible objects is known. */
    readonly fromState: boolean;
    readonly show: (stored: Entry) => Promise<Entry>;
  },
): AsyncIterable<readonly WatchItem[]> {
  const visible = new Set<string>();
  try {
    for await (const batch of watcher) {
      const items: WatchItem[] = [];
      for (const item of batch) {
        if (item.type === 'BOOKMARK') items.push(item);
        else {
          const stored = entryOf(item.response, of.definition, of.resource);
          const { response } = await of.show(stored);
          const type = typeFor(item.type, of.filter.matches(response.object), visible.has(stored.key), of.fromState);
          if (type === undefined) continue;
          if (type === 'DELETED') visible.delete(stored.key);
          else visible.add(stored.key);
          items.push({ type, response });
        }
      }
      if (items.length > 0) yield items;
    }
  } finally {
    watcher.close('stopped');
  }
}

function typeFor(
  type: 'ADDED' | 'MODIFIED' | 'DELETED',
  matches: boolean,
  wasVisible: boolean,
  fromState: boolean,
): 'ADDED' | 'MODIFIED' | 'DELETED' | undefined {
  if (type === 'DELETED') return matches || wasVisible ? 'DELETED' : undefined;
  if (matches) return type === 'ADDED' || (fromState && !wasVisible) ? 'ADDED' : 'MODIFIED';
  // A resumed watch may have sent the object before its restart.
  return wasVisible || (!fromState && type === 'MODIFIED') ? 'DELETED' : undefined;
}

/** The entry of the cache if it is the same version, so that readers share its conversion. */
function entryOf(response: ObjectResponse, definition: ResourceDefinition, resource: ResourceCache): Entry {
  const { namespace = '', name = '', resourceVersion = '' } = response.object.metadata;
  const key = objectKey(definition, namespace, name);
  const cached = resource.get(key);
  return cached?.response === response ? cached : { key, resourceVersion: Number(resourceVersion), response };
}
