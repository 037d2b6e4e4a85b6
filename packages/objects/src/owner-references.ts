import type { OwnerReference } from './generated/types.ts';
import type { KubeObject } from './object.ts';

/** The owner reference that marks the controller of an object, if there is one. */
export function controllerOf(object: KubeObject | undefined): OwnerReference | undefined {
  return object?.metadata.ownerReferences?.find((reference) => reference.controller === true);
}

/** A controlling owner reference to `owner`, blocking its foreground deletion. */
export function controllerReference(owner: KubeObject): OwnerReference {
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name ?? '',
    uid: owner.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}
