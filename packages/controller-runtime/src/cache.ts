import type { KubeObject, ObjectKey, ResourceRef } from '@gantry/api';

/**
 * Objects, kept up to date by a reflector for each resource. What it gives is shared: never change it. Of resources that are
 * not built in (see `ServedResources`) it holds the metadata without annotations, under any of their versions.
 */
export interface Cache {
  get<T extends KubeObject>(resource: ResourceRef, key: ObjectKey): T | undefined;
  /** All of a namespace, or of all namespaces when it is absent. */
  list<T extends KubeObject>(resource: ResourceRef, namespace?: string): readonly T[];
  /** Objects whose controlling owner (`ownerReferences[].controller`) has this uid. */
  controlledBy<T extends KubeObject>(resource: ResourceRef, ownerUid: string): readonly T[];
  /** Pods by `spec.nodeName`; '' for unassigned ones. Only for resources indexed so. */
  onNode<T extends KubeObject>(resource: ResourceRef, nodeName: string): readonly T[];
  /** Revision (resourceVersion / 256) that every watched built-in resource has reached: what a leader declares. */
  revision(): number;
  /** Objects of all watched resources that name this uid among their owners. */
  dependentsOf?(ownerUid: string): readonly KubeObject[];
  /** The object of a watched resource that has this uid. */
  withUid?(uid: string): KubeObject | undefined;
  /** resourceVersion that this resource has reached; undefined when it is not watched. */
  reached?(resource: ResourceRef): number | undefined;
}
