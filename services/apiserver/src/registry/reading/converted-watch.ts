import type { ResourceDefinition } from '@gantry/apimachinery';
import type { KubeObject } from '@gantry/objects';
import { type Entry, type Filter, objectKey, type ResourceCache, type Watcher } from '../../cache/index.ts';
import type { ObjectResponse, WatchItem } from '../../cache/object-response.ts';

/** What is watched where a server elsewhere converts: everything of a namespace as it is stored, narrowed down afterwards. */
export function storedFilter({ namespace, key, matches: _matches }: Filter): Filter {
  const inNamespace = (object: KubeObject) => namespace === '' || object.metadata.namespace === namespace;
  return { namespace, selectsAll: key === undefined, matches: inNamespace, key };
}

/**
 * The items of a watch on stored objects as another version shows them. `show` asks the server that converts: when it fails,
 * the watch fails. ADDED and DELETED follow from the objects that were shown before.
 */
export async function* convertedWatch(
  watcher: Watcher,
  of: {
    readonly definition: ResourceDefinition;
    readonly resource: ResourceCache;
    readonly filter: Filter;
    /** Whether the watch begins with everything that exists, so that all it has in sight is known. */
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
  // A watch that was resumed may have shown it before.
  return wasVisible || (!fromState && type === 'MODIFIED') ? 'DELETED' : undefined;
}

/** The cache's own entry if it is still that one, so that its conversion is shared. */
function entryOf(response: ObjectResponse, definition: ResourceDefinition, resource: ResourceCache): Entry {
  const { namespace = '', name = '', resourceVersion = '' } = response.object.metadata;
  const key = objectKey(definition, namespace, name);
  const cached = resource.get(key);
  return cached?.response === response ? cached : { key, resourceVersion: Number(resourceVersion), response };
}
