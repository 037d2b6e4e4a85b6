import type { ResourceVersion } from './object-store.ts';

/** How many versions one etcd revision can hold. */
export const VERSIONS_PER_REVISION = 256;

export function versionOf(revision: number, index: number): ResourceVersion {
  return revision * VERSIONS_PER_REVISION + index;
}

export function revisionOf(version: ResourceVersion): number {
  return Math.floor(version / VERSIONS_PER_REVISION);
}
