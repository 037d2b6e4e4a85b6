import type { Change, World } from '../history/world.ts';
import type { Source } from '../read-artifacts.ts';

/** A version that etcd's history has of an object that clients write. The objects themselves are not kept. */
export interface WrittenVersion {
  readonly resourceVersion: number;
  /** The version before; 0 for a creation. */
  readonly previousVersion: number;
  readonly atMs: number;
  readonly source: Source;
  /** Deleted, or its deletion requested. */
  readonly deletes: boolean;
  readonly uid: string | undefined;
}

/** The versions of the objects that clients write, from their first request on. */
export class WrittenVersions {
  readonly #world: World;
  readonly #versions = new Map<string, Map<number, WrittenVersion>>();
  /** Versions at the time of the first request: a write that changes nothing returns the present one. */
  readonly #present = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  /** A client begins to write the object. */
  track(key: string): void {
    if (this.#versions.has(key)) return;
    this.#versions.set(key, new Map());
    this.#present.set(key, this.#world.objects.get(key)?.resourceVersion ?? 0);
  }

  add(change: Change): void {
    const { before, after, resourceVersion, atMs, source } = change;
    const { uid, deletionTimestamp } = (after ?? before)?.object?.metadata ?? {};
    const deletes = after === undefined || deletionTimestamp !== undefined;
    const previousVersion = before?.resourceVersion ?? 0;
    this.#versions
      .get(change.key)
      ?.set(resourceVersion, { resourceVersion, previousVersion, atMs, source, deletes, uid });
  }

  /** The change that gave the object this version; 'present' for the version that it had before. */
  find(key: string, resourceVersion: number): WrittenVersion | 'present' | undefined {
    if (this.#present.get(key) === resourceVersion) return 'present';
    return this.#versions.get(key)?.get(resourceVersion);
  }

  /** All versions, oldest first. */
  of(key: string): Iterable<WrittenVersion> {
    return this.#versions.get(key)?.values() ?? [];
  }
}
