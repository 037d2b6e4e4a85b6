import type { GroupResource } from '@gantry/objects';

/** The root of all objects. */
export const REGISTRY = '/registry/';

/** The part of a resource that determines its keys. With `storage`, the keys are those of the storage resource. */
export interface Keyed extends GroupResource {
  readonly storage?: GroupResource;
}

/** The prefix `/registry/<group>/<resource>/`. The core group has no group segment. */
export function resourcePrefix(of: Keyed): string {
  const { group, resource } = of.storage ?? of;
  return group === '' ? `${REGISTRY}${resource}/` : `${REGISTRY}${group}/${resource}/`;
}

/** The prefix of the objects of a namespace, or of all objects if `namespace` is ''. */
export function namespacePrefix(of: Keyed, namespace: string): string {
  return namespace === '' ? resourcePrefix(of) : `${resourcePrefix(of)}${namespace}/`;
}

/** The key of one object. Callers must have validated the name as a path segment. */
export function objectKey(of: Keyed, namespace: string, name: string): string {
  return `${namespacePrefix(of, namespace)}${name}`;
}

/** The etcd revision of a resourceVersion. */
export function revisionOf(resourceVersion: number): number {
  return Math.floor(resourceVersion / 256);
}

/** The resourceVersion of a list at `revision`. */
export function listVersion(revision: number): number {
  return revision * 256 + 255;
}
