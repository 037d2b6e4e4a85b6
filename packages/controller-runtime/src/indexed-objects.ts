import { formatKey, keyOf, type KubeObject } from '@gantry/objects';
import { parseVersion } from './revision.ts';

/** The groups of an object in each index. */
type Indexes<T, Name extends string> = Readonly<Record<Name, (object: T) => readonly string[]>>;

/**
 * Objects of one resource in their newest known version: from the cache, and from responses to own writes that the cache may not show yet.
 * They are found by key and by groups.
 */
export class IndexedObjects<T extends KubeObject, Name extends string> {
  readonly #indexes: Indexes<T, Name>;
  readonly #objects = new Map<string, T>();
  /** By index and group. */
  readonly #groups = new Map<string, Map<string, T>>();

  constructor(indexes: Indexes<T, Name>) {
    this.#indexes = indexes;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  /** The objects of a group. */
  in(index: Name, group: string): readonly T[] {
    return [...(this.#groups.get(`${index} ${group}`)?.values() ?? [])];
  }

  /** Takes a change that the cache reports. */
  take(object: T | undefined, old: T | undefined): void {
    if (object !== undefined) this.#put(object);
    else if (old !== undefined && this.#known(old)?.metadata.uid === old.metadata.uid) this.#drop(old);
  }

  /** Takes the response to an own write. Ignored if the object has been deleted since. */
  written(object: T): void {
    if (this.#known(object)?.metadata.uid === object.metadata.uid) this.#put(object);
  }

  clear(): void {
    this.#objects.clear();
    this.#groups.clear();
  }

  #known(object: T): T | undefined {
    return this.#objects.get(formatKey(keyOf(object)));
  }

  #put(object: T): void {
    const known = this.#known(object);
    if (known !== undefined) {
      if (parseVersion(known.metadata.resourceVersion) > parseVersion(object.metadata.resourceVersion)) return;
      this.#drop(known);
    }
    const key = formatKey(keyOf(object));
    this.#objects.set(key, object);
    for (const id of this.#groupsOf(object)) {
      const group = this.#groups.get(id);
      if (group === undefined) this.#groups.set(id, new Map([[key, object]]));
      else group.set(key, object);
    }
  }

  #drop(object: T): void {
    const known = this.#known(object);
    if (known === undefined) return;
    const key = formatKey(keyOf(known));
    this.#objects.delete(key);
    for (const id of this.#groupsOf(known)) {
      const group = this.#groups.get(id);
      group?.delete(key);
      if (group?.size === 0) this.#groups.delete(id);
    }
  }

  #groupsOf(object: T): readonly string[] {
    return (Object.keys(this.#indexes) as Name[]).flatMap((name) =>
      this.#indexes[name](object).map((group) => `${name} ${group}`),
    );
  }
}
