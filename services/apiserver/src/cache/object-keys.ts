import type { GroupResource } from '@gantry/objects';

/** The tree of all objects. */
export const REGISTRY = '/registry/';

/** A resource as its keys need it: those of a version that is stored as another resource are that one's. */
export interface Keyed extends GroupResource {
  readonly storage?: GroupResource;
}

/** `/registry/<group>/<resource>/`, without the group for the core group. */
export function resourcePrefix(of: Keyed): string {
  const { group, resource } = of.storage ?? of;
  return group === '' ? `${REGISTRY}${resource}/` : `${REGISTRY}${group}/${resource}/`;
}

/** The prefix of a namespace's objects; of all when `namespace` is ''. */
export function namespacePrefix(of: Keyed, namespace: string): string {
  return namespace === '' ? resourcePrefix(of) : `${resourcePrefix(of)}${namespace}/`;
}

/** The key of one object. Names are validated as path segments before they come here. */
export function objectKey(of: Keyed, namespace: string, name: string): string {
  return `${namespacePrefix(of, namespace)}${name}`;
}

/** The etcd revision that a resourceVersion belongs to. */
export function revisionOf(resourceVersion: number): number {
  return Math.floor(resourceVersion / 256);
}

/** The version that a list of everything up to `revision` carries. */
export function listVersion(revision: number): number {
  return revision * 256 + 255;
}
