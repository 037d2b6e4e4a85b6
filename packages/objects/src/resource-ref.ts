import type { KubeObject } from './object.ts';

/** Names a resource in requests and registries. */
export interface ResourceRef {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/**
 * A resource with the type of its objects: `Resource<Pod>` for pods. Caches, clients and informers use it to type their objects, so a
 * Deployment cannot be read as a Pod.
 */
export interface Resource<T extends KubeObject = KubeObject> extends ResourceRef {
  readonly kind: string;
  readonly namespaced: boolean;
  /** Never set. It only carries the type, so that resources with different objects have different types. */
  readonly objectType?: T;
}
