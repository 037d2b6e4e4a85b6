import type { StoredChange } from '@gantry/apiserver/testing';
import type { KubeObject, Resource, ResourceRef } from '@gantry/objects';

/** One change of the store, with the previous state of the object. */
export interface Change extends StoredChange {
  readonly old: KubeObject | undefined;
}

type Named = Pick<ResourceRef, 'group' | 'resource'>;

/** The contents of the store, which follow each change. They come directly from the store, without a cache or client in between. */
export class World {
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #listeners: ((change: Change) => void)[] = [];

  /** Calls the listener for every change from now on, in the store's order. */
  subscribe(listener: (change: Change) => void): void {
    this.#listeners.push(listener);
  }

  all<T extends KubeObject>(resource: Resource<T>): readonly T[] {
    return [...this.#bucket(resource).values()] as T[];
  }

  get<T extends KubeObject>(resource: Resource<T>, namespace: string, name: string): T | undefined {
    return this.#bucket(resource).get(namespace === '' ? name : `${namespace}/${name}`) as T | undefined;
  }

  /** All objects, each with its resource as `group/plural`. */
  *everything(): Iterable<readonly [resource: string, object: KubeObject]> {
    for (const [resource, objects] of this.#objects) for (const object of objects.values()) yield [resource, object];
  }

  take(change: StoredChange): void {
    const objects = this.#bucket(change.resource);
    const old = objects.get(change.name);
    if (change.object === undefined) objects.delete(change.name);
    else objects.set(change.name, change.object);
    for (const listener of this.#listeners) listener({ ...change, old });
  }

  #bucket({ group, resource }: Named): Map<string, KubeObject> {
    const id = `${group}/${resource}`;
    const bucket = this.#objects.get(id) ?? new Map<string, KubeObject>();
    this.#objects.set(id, bucket);
    return bucket;
  }
}

/** Whether a change is about this resource. */
export function isOf(change: StoredChange, { group, resource }: Named): boolean {
  return change.resource.group === group && change.resource.resource === resource;
}
