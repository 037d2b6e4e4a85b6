import type { KubeObject } from './object.ts';

/** Names a resource in requests and registries. */
export interface ResourceRef {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/**
 * A resource together with the type of its objects: `Resource<Pod>` for pods. Whatever takes one (caches, clients, informers)
 * gives and takes objects of that type, so a Deployment cannot be read as a Pod.
 */
export interface Resource<T extends KubeObject = KubeObject> extends ResourceRef {
  readonly kind: string;
  readonly namespaced: boolean;
  /** Carries the type and is never set: two resources of different types are then different types themselves. */
  readonly objectType?: T;
}
