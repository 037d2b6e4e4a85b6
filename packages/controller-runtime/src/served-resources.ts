import type { ResourceRef } from '@gantry/objects';
import type { Informers } from './informers.ts';
import type { ResourceDirectory } from './resource-directory.ts';
import type { ServedResource } from './served-resource.ts';

/**
 * The custom resources, from definitions, and the aggregated resources, from discovery of APIServices. They change while controllers run.
 */
export interface ServedResources {
  list(): readonly ServedResource[];
  /** Finds a resource by group and plural, in any version. */
  find(of: { readonly group: string; readonly resource: string }): ServedResource | undefined;
  /** Finds a resource by group and kind, in any version: all versions of a kind show the same objects. */
  findKind(group: string, kind: string): ServedResource | undefined;
  /** Group versions whose discovery failed, sorted. */
  failures(): readonly string[];
  /** Whether the cache holds all objects of a resource. */
  isSynced(resource: ResourceRef): boolean;
  /** Whether discovery of each aggregated API server, and the list of each followed resource, has been tried at least once. */
  isSettled(): boolean;
  /** Repeats discovery of the aggregated API servers. Resolves when each has responded or failed. */
  refresh(signal: AbortSignal): Promise<void>;
}

/** Combines the directory, which knows the resources, with the informers, which know their objects. */
export function createServedResources(directory: ResourceDirectory, informers: Informers): ServedResources {
  return {
    list: () => directory.list(),
    find: (of) => directory.find(of),
    findKind: (group, kind) => directory.findKind(group, kind),
    failures: () => directory.failures(),
    isSynced: (resource) => informers.isSynced(resource),
    isSettled: () => directory.isSettled() && informers.isSettled(),
    refresh: (signal) => directory.refresh(signal),
  };
}
