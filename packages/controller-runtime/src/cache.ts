import type { KubeObject, ObjectKey, Resource, ResourceRef } from '@gantry/objects';
import type { ObjectIndex } from './resource-index.ts';

/**
 * Cached objects, kept up to date by one reflector per resource. The objects are shared: never change them. For custom and aggregated
 * resources (see `ServedResources`) the cache holds only metadata without annotations, and finds it under any version.
 */
export interface Cache {
  get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey): T | undefined;
  /** The objects of a namespace, or of all namespaces when it is absent. */
  list<T extends KubeObject>(resource: Resource<T>, namespace?: string): readonly T[];
  /**
   * Objects of a namespace whose controlling owner (`ownerReferences[].controller`) has this uid. Pass the owner's own namespace: in
   * another namespace, any user can write the uid of a foreign owner.
   */
  controlledBy<T extends KubeObject>(resource: Resource<T>, namespace: string, ownerUid: string): readonly T[];
  /** Objects of a namespace without a controlling owner: those that an owner may adopt. */
  withoutController<T extends KubeObject>(resource: Resource<T>, namespace: string): readonly T[];
  /** Pods by `spec.nodeName`; '' for unassigned pods. Only for resources with this index. */
  onNode<T extends KubeObject>(resource: Resource<T>, nodeName: string): readonly T[];
  /**
   * Objects of a namespace that may have all these labels. They come from the index of the rarest label, so the caller must still apply its
   * selector. Without labels, all objects of the namespace.
   */
  labelled<T extends KubeObject>(
    resource: Resource<T>,
    namespace: string,
    labels: Readonly<Record<string, string>>,
  ): readonly T[];
  /** Objects of a namespace whose `spec.selector` may match these labels, from an index. The caller must still apply the selector. */
  selecting<T extends KubeObject>(
    resource: Resource<T>,
    namespace: string,
    labels: Readonly<Record<string, string>>,
  ): readonly T[];
  /** Objects that have this value in an index of one's own. */
  indexed<T extends KubeObject>(index: ObjectIndex<T>, value: string): readonly T[];
  /** The revision (resourceVersion / 256) that all watched built-in resources have reached. Part of a leader's fence. */
  revision(): number;
  /** Objects of all watched resources that name this uid among their owners. */
  dependentsOf(ownerUid: string): readonly KubeObject[];
  /** The object of a watched resource that has this uid. */
  withUid(uid: string): KubeObject | undefined;
  /** Whether the cache holds this object of a watched resource, if it exists: false outside the namespace and the selectors of the watch. */
  selects(resource: ResourceRef, object: KubeObject): boolean;
  /** The resourceVersion that this resource has reached, in a namespace or everywhere; undefined when it is not watched. */
  reached(resource: ResourceRef, namespace?: string): number | undefined;
}
