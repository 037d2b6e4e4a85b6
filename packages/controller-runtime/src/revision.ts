import type { ResourceRef } from '@gantry/objects';

/** The number of resourceVersions per store revision: see "Objects and storage" in the architecture. */
const VERSIONS_PER_REVISION = 256;

/** The store's revision that a resourceVersion belongs to. */
export function storeRevision(resourceVersion: number): number {
  return Math.floor(resourceVersion / VERSIONS_PER_REVISION);
}

/** A resourceVersion as a number; 0 when it is absent or not a number. */
export function parseVersion(resourceVersion: string | undefined): number {
  const version = Number(resourceVersion ?? '');
  return Number.isSafeInteger(version) && version > 0 ? version : 0;
}

const IDS = new WeakMap<ResourceRef, string>();

/** A unique text for a resource, for maps. Memoised, because each cache lookup needs it. */
export function resourceId(resource: ResourceRef): string {
  const known = IDS.get(resource);
  if (known !== undefined) return known;
  const id = `${resource.group}/${resource.version}/${resource.resource}`;
  IDS.set(resource, id);
  return id;
}
