import type { ResourceVersion } from './object-store.ts';

/** Maximum number of versions in one etcd revision. */
const VERSIONS_PER_REVISION = 256;

export function versionOf(revision: number, index: number): ResourceVersion {
  return revision * VERSIONS_PER_REVISION + index;
}

export function revisionOf(version: ResourceVersion): number {
  return Math.floor(version / VERSIONS_PER_REVISION);
}

/** Root of all objects. */
export const REGISTRY = '/registry/';
/** Identifies the history of the store. A restore from a backup changes it, so that earlier fences are invalid. */
export const INCARNATION_KEY = '/gantry/incarnation';
/** Root of the keys that show which processes are alive and which group each lane has written last. */
export const COMMIT_ROOT = '/gantry/commit/';
/** Root of the records of fenced deletions. A deleted object has no envelope that names its writer. */
export const DELETED_ROOT = '/gantry/deleted';

/** All API groups without a dot; there will be no new ones. Any other first segment without a dot is a core resource. */
const DOTLESS_GROUPS: ReadonlySet<string> = new Set(['apps', 'autoscaling', 'batch', 'extensions', 'policy']);

/** The prefix `/registry/<group>/<resource>/` of an object's key. Events of one revision are numbered per prefix. */
export function resourceRootOf(key: string): string {
  const groupEnd = key.indexOf('/', REGISTRY.length);
  const first = key.slice(REGISTRY.length, groupEnd);
  if (!first.includes('.') && !DOTLESS_GROUPS.has(first)) return key.slice(0, groupEnd + 1);
  return key.slice(0, key.indexOf('/', groupEnd + 1) + 1);
}

/** The key of the record of a fenced deletion. */
export function deletedKeyOf(key: string): string {
  return DELETED_ROOT + key;
}

/** The key that shows that a process is alive, with a lease. Without it, other processes may remove the lanes. */
export function aliveKeyOf(process: string): string {
  return `${COMMIT_ROOT}${process}/alive`;
}

/** The key of a lane, with the id of its last group. It resolves the outcome after a lost response. */
export function laneKeyOf(process: string, lane: number): string {
  return `${COMMIT_ROOT}${process}/${lane}`;
}
