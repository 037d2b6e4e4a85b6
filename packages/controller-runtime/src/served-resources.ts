import type { ResourceRef } from '@gantry/objects';
import type { Informers } from './informers.ts';
import type { ResourceDirectory } from './resource-directory.ts';
import type { ServedResource } from './served-resource.ts';

/**
 * The custom resources by their definitions, and the aggregated ones by what discovery finds behind their APIServices. They
 * change while controllers run.
 */
export interface ServedResources {
  list(): readonly ServedResource[];
  /** By group and plural, whatever the version. */
  find(of: { readonly group: string; readonly resource: string }): ServedResource | undefined;
  /** By group and kind, whatever the version: all versions of a kind are the same objects. */
  findKind(group: string, kind: string): ServedResource | undefined;
  /** Group versions whose discovery failed, in order. */
  failures(): readonly string[];
  /** Whether the cache holds all objects of a resource. */
  isSynced(resource: ResourceRef): boolean;
  /** Whether each aggregated API server has been asked, and listing each resource that is followed has been tried. */
  isSettled(): boolean;
  /** Asks the aggregated API servers again; resolves when each has responded or failed. */
  refresh(signal: AbortSignal): Promise<void>;
}

/** Joins what the directory knows of resources with what the informers know of their objects. */
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
