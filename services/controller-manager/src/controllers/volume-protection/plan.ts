import type { KubeObject, PersistentVolume, PersistentVolumeClaim, Pod, VolumeAttributesClass } from '@gantry/api';

export const CLAIM_PROTECTION = 'kubernetes.io/pvc-protection';
export const VOLUME_PROTECTION = 'kubernetes.io/pv-protection';
export const ATTRIBUTES_PROTECTION = 'kubernetes.io/vac-protection';

/** What is to be written so that the object may go; nothing while somebody uses it, or when nobody deletes it. */
export function planRelease<T extends KubeObject>(object: T, protection: string, inUse: boolean): readonly T[] {
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || inUse || !finalizers.includes(protection)) return [];
  const left = finalizers.filter((one) => one !== protection);
  return [{ ...object, metadata: { ...object.metadata, finalizers: left } }];
}

/** Claims that a pod mounts, by their names: those it names, and those that are made for its ephemeral volumes. */
export function claimsOf(pod: Pod): readonly string[] {
  return (pod.spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim !== undefined) return [persistentVolumeClaim.claimName];
    return ephemeral === undefined ? [] : [`${pod.metadata.name}-${name}`];
  });
}

/** A pod that no node has been told of yet cannot start any more with a claim that is going away, so it holds none. */
export function isClaimUsed(claim: PersistentVolumeClaim, pods: readonly Pod[]): boolean {
  return pods.some((pod) => (pod.spec?.nodeName ?? '') !== '' && claimsOf(pod).includes(claim.metadata.name ?? ''));
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
