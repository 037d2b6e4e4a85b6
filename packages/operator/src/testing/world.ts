import type { InProcessServer, StoredChange } from '@gantry/apiserver/testing';
import type { Activity } from '@gantry/controller-runtime/testing';
import { ignoreNotFound, ignoreReasons } from '@gantry/client';
import { type KubeObject, keyOf, type Resource } from '@gantry/objects';

interface Known {
  readonly resource: Resource;
  readonly object: KubeObject;
}

/**
 * What is in the store. Deletes objects whose owners are all gone, as the garbage collector of a cluster does in the background.
 * Foreground deletion and orphaning are not simulated.
 */
export class World {
  readonly #server: InProcessServer;
  readonly #activity: Activity;
  readonly #find: (of: StoredChange['resource']) => Resource | undefined;
  readonly #byName = new Map<string, Known>();
  readonly #uids = new Set<string>();

  constructor(
    server: InProcessServer,
    activity: Activity,
    find: (of: StoredChange['resource']) => Resource | undefined,
  ) {
    this.#server = server;
    this.#activity = activity;
    this.#find = find;
  }

  /** The objects of a resource, in the order of their creation. */
  all<T extends KubeObject>({ group, resource }: Resource<T>): readonly T[] {
    const found = [...this.#byName.values()].filter(
      (known) => known.resource.group === group && known.resource.resource === resource,
    );
    return found.map(({ object }) => object as T);
  }

  /** All objects. */
  everything(): readonly Known[] {
    return [...this.#byName.values()];
  }

  take({ resource, name, object }: StoredChange, signal: AbortSignal): void {
    const found = this.#find(resource);
    if (found === undefined) return;
    const id = `${resource.group}/${resource.resource}/${name}`;
    const old = this.#byName.get(id);
    if (object !== undefined) {
      const known = { resource: found, object };
      this.#byName.set(id, known);
      this.#uids.add(object.metadata.uid ?? '');
      this.#collect(known, signal);
      return;
    }
    this.#byName.delete(id);
    this.#uids.delete(old?.object.metadata.uid ?? '');
    for (const known of this.#byName.values()) this.#collect(known, signal);
  }

  #collect({ resource, object }: Known, signal: AbortSignal): void {
    const { ownerReferences = [], uid, deletionTimestamp } = object.metadata;
    const isWanted = ownerReferences.length === 0 || ownerReferences.some((owner) => this.#uids.has(owner.uid));
    if (isWanted || deletionTimestamp !== undefined) return;
    const client = this.#server.client({ fieldManager: 'garbage-collector' });
    const remove = () =>
      ignoreReasons(ignoreNotFound(client.delete(resource, keyOf(object), { uid }, signal)), ['Conflict']);
    void this.#activity.of(remove).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}
