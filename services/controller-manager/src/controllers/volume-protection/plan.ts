import type { Plan } from '@gantry/base';
import {
  claimsOfPod,
  type KubeObject,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type VolumeAttributesClass,
} from '@gantry/objects';

export const CLAIM_PROTECTION = 'kubernetes.io/pvc-protection';
export const VOLUME_PROTECTION = 'kubernetes.io/pv-protection';
export const ATTRIBUTES_PROTECTION = 'kubernetes.io/vac-protection';

/** Writes the object without our finalizer, so that it can be deleted. */
export type Action<T extends KubeObject> = { readonly kind: 'release'; readonly object: T };

/** Releases an object that is being deleted and not in use. */
export function planRelease<T extends KubeObject>(object: T, protection: string, inUse: boolean): Plan<Action<T>> {
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || inUse || !finalizers.includes(protection)) return { actions: [] };
  const left = finalizers.filter((one) => one !== protection);
  return { actions: [{ kind: 'release', object: { ...object, metadata: { ...object.metadata, finalizers: left } } }] };
}

/** A pod without a node cannot start with a terminating claim, so it does not use it. */
export function isClaimUsed(claim: PersistentVolumeClaim, pods: readonly Pod[]): boolean {
  return pods.some((pod) => (pod.spec?.nodeName ?? '') !== '' && claimsOfPod(pod).includes(claim.metadata.name ?? ''));
}

export function isVolumeUsed(volume: PersistentVolume): boolean {
  return volume.status?.phase === 'Bound';
}

/** Classes that a claim has, wants or is being moved to. */
export function classesOfClaim({ spec, status }: PersistentVolumeClaim): readonly string[] {
  return [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ].filter((name) => name !== undefined);
}

export function isClassUsed(
  { metadata }: VolumeAttributesClass,
  claims: readonly PersistentVolumeClaim[],
  volumes: readonly PersistentVolume[],
): boolean {
  const name = metadata.name ?? '';
  return (
    claims.some((claim) => classesOfClaim(claim).includes(name)) ||
    volumes.some(({ spec }) => spec?.volumeAttributesClassName === name)
  );
}
