import type { KubeObject, ObjectKey, ResourceRef } from '@gantry/api';

/** Objects of one resource, kept up to date by a reflector. What it gives is shared: never change it. */
export interface Cache {
  get<T extends KubeObject>(resource: ResourceRef, key: ObjectKey): T | undefined;
  /** All of a namespace, or of all namespaces when it is absent. */
  list<T extends KubeObject>(resource: ResourceRef, namespace?: string): readonly T[];
  /** Objects whose controlling owner (`ownerReferences[].controller`) has this uid. */
  controlledBy<T extends KubeObject>(resource: ResourceRef, ownerUid: string): readonly T[];
  /** Pods by `spec.nodeName`; '' for unassigned ones. Only for resources indexed so. */
  onNode<T extends KubeObject>(resource: ResourceRef, nodeName: string): readonly T[];
  /** Revision (resourceVersion / 256) that every watched resource has reached: what a leader declares. */
  revision(): number;
  /** Objects of all watched resources that name this uid among their owners. */
  dependentsOf?(ownerUid: string): readonly KubeObject[];
  /** resourceVersion that this resource has reached; undefined when it is not watched. */
  reached?(resource: ResourceRef): number | undefined;
}
