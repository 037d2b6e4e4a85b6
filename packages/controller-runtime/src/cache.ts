import type { KubeObject, ObjectKey, Resource, ResourceRef } from '@gantry/objects';

/**
 * Objects, kept up to date by a reflector for each resource. They are shared: never change them. Of custom and aggregated
 * resources (see `ServedResources`) it holds the metadata without annotations, under any of their versions.
 */
export interface Cache {
  get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey): T | undefined;
  /** Those of a namespace, or of all namespaces when it is absent. */
  list<T extends KubeObject>(resource: Resource<T>, namespace?: string): readonly T[];
  /**
   * Objects of a namespace whose controlling owner (`ownerReferences[].controller`) has this uid. Only those of the owner's own
   * namespace are its: in another one, any user can write its uid.
   */
  controlledBy<T extends KubeObject>(resource: Resource<T>, namespace: string, ownerUid: string): readonly T[];
  /** Objects of a namespace without a controlling owner: those that an owner may adopt. */
  withoutController<T extends KubeObject>(resource: Resource<T>, namespace: string): readonly T[];
  /** Pods by `spec.nodeName`; '' for unassigned ones. Only for resources indexed so. */
  onNode<T extends KubeObject>(resource: Resource<T>, nodeName: string): readonly T[];
  /**
   * Objects of a namespace that may have all these labels: from the index of the rarest one, so the caller still applies its
   * selector. All objects of the namespace when no label is given.
   */
  labelled<T extends KubeObject>(
    resource: Resource<T>,
    namespace: string,
    labels: Readonly<Record<string, string>>,
  ): readonly T[];
  /** Objects of a namespace whose `spec.selector` may match these labels: the caller still applies it. By index. */
  selecting<T extends KubeObject>(
    resource: Resource<T>,
    namespace: string,
    labels: Readonly<Record<string, string>>,
  ): readonly T[];
  /** Revision (resourceVersion / 256) that every watched built-in resource has reached; part of a leader's fence. */
  revision(): number;
  /** Objects of all watched resources that name this uid among their owners. */
  dependentsOf(ownerUid: string): readonly KubeObject[];
  /** The object of a watched resource that has this uid. */
  withUid(uid: string): KubeObject | undefined;
  /** resourceVersion that this resource has reached; undefined when it is not watched. */
  reached(resource: ResourceRef): number | undefined;
}
