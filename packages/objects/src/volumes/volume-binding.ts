import { STORAGE_CLASS_ANNOTATION } from '../well-known.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod, StorageClass } from '../generated/types.ts';

/** On claims: the binding was once complete. Its value has no meaning. */
export const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed';
/** On volumes and claims: a controller made this side of the binding; without it, a user did. Its value has no meaning. */
export const BOUND_BY_CONTROLLER = 'pv.kubernetes.io/bound-by-controller';
/** On claims: the node on which the scheduler wants the volume to be made. */
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
/** On volumes: the provisioner that made it. */
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';
/** On claims: the provisioner that is to make the volume, and the annotation's older name, which Kubernetes still writes. */
export const STORAGE_PROVISIONER = 'volume.kubernetes.io/storage-provisioner';
export const BETA_STORAGE_PROVISIONER = 'volume.beta.kubernetes.io/storage-provisioner';
/** The provisioner of classes without one. */
export const NO_PROVISIONER = 'kubernetes.io/no-provisioner';

/** The storage class in a claim; '' for none, undefined if the claim does not set it. */
export function requestedClassOf({ metadata, spec }: PersistentVolumeClaim): string | undefined {
  return metadata.annotations?.[STORAGE_CLASS_ANNOTATION] ?? spec?.storageClassName;
}

/** The storage class of a claim; '' for none. */
export function classOfClaim(claim: PersistentVolumeClaim): string {
  return requestedClassOf(claim) ?? '';
}

/** The storage class of a volume; '' for none. */
export function classOfVolume({ metadata, spec }: PersistentVolume): string {
  return metadata.annotations?.[STORAGE_CLASS_ANNOTATION] ?? spec?.storageClassName ?? '';
}

/** Whether claims of the class are bound only when a pod needs them, by the scheduler. */
export function waitsForConsumer(storageClass: StorageClass | undefined): boolean {
  return storageClass?.volumeBindingMode === 'WaitForFirstConsumer';
}

/** Whether a volume is bound to the claim or reserved for it: by name, and by uid where the reference has one. */
export function isBoundToClaim({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const reference = spec?.claimRef;
  if (reference === undefined) return false;
  if (reference.name !== metadata.name || reference.namespace !== metadata.namespace) return false;
  return (reference.uid ?? '') === '' || reference.uid === metadata.uid;
}

/** Whether both sides of a binding are complete. */
export function isFullyBound(claim: PersistentVolumeClaim): boolean {
  return (claim.spec?.volumeName ?? '') !== '' && claim.metadata.annotations?.[BIND_COMPLETED] !== undefined;
}

/** Whether a StatefulSet controls the pod, so that its name is an identity. */
export function isOfStatefulSet({ metadata }: Pod): boolean {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return owner?.kind === 'StatefulSet' && owner.apiVersion.startsWith('apps/');
}

/** Names of a pod's claims: those it refers to, and those created for its ephemeral volumes. */
export function claimsOfPod({ metadata, spec }: Pod): readonly string[] {
  return (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim !== undefined) return [persistentVolumeClaim.claimName];
    return ephemeral === undefined ? [] : [`${metadata.name ?? ''}-${name}`];
  });
}
