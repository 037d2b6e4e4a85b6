import type { ResourceVersion } from './object-store.ts';

/** How many versions one etcd revision can hold. */
const VERSIONS_PER_REVISION = 256;

export function versionOf(revision: number, index: number): ResourceVersion {
  return revision * VERSIONS_PER_REVISION + index;
}

export function revisionOf(version: ResourceVersion): number {
  return Math.floor(version / VERSIONS_PER_REVISION);
}

/** Root of all objects. */
export const REGISTRY = '/registry/';
/** Names this content of etcd: after a restore from a backup it has another value, and fences of before do not hold. */
export const INCARNATION_KEY = '/gantry/incarnation';
/** Below it each process says that it lives, and which group its lanes have written last. */
export const COMMIT_ROOT = '/gantry/commit/';
/** Below it fenced deletions are recorded: a deleted object has no envelope that could name its writer. */
export const DELETED_ROOT = '/gantry/deleted';

/** Groups without a dot; there will be no more of them, so every other first segment without one is a core resource. */
const DOTLESS_GROUPS: ReadonlySet<string> = new Set(['apps', 'autoscaling', 'batch', 'extensions', 'policy']);

/** `/registry/<group>/<resource>/` of an object's key: events are numbered within it. */
export function resourceRootOf(key: string): string {
  const groupEnd = key.indexOf('/', REGISTRY.length);
  const first = key.slice(REGISTRY.length, groupEnd);
  if (!first.includes('.') && !DOTLESS_GROUPS.has(first)) return key.slice(0, groupEnd + 1);
  return key.slice(0, key.indexOf('/', groupEnd + 1) + 1);
}

/** Where a fenced deletion of `key` is recorded. */
export function deletedKeyOf(key: string): string {
  return DELETED_ROOT + key;
}

/** Held by an apiserver's lease: without it the process's lanes may be cleaned up. */
export function aliveKeyOf(process: string): string {
  return `${COMMIT_ROOT}${process}/alive`;
}

/** Where a lane keeps the id of its last group, by which a lost response is resolved. */
export function laneKeyOf(process: string, lane: number): string {
  return `${COMMIT_ROOT}${process}/${lane}`;
}
