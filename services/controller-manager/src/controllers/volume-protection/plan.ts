import type { Plan } from '@gantry/base';
import {
  controllerOf,
  type KubeObject,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type VolumeAttributesClass,
} from '@gantry/objects';

/** Writes the object with our finalizer, or without it, so that it can be deleted. */
export interface Action<T extends KubeObject> {
  readonly kind: 'protect' | 'release';
  readonly object: T;
}

/** Releases an object that is being deleted and not in use. An object that lost its finalizer while not being deleted gets it back. */
export function planProtection<T extends KubeObject>(object: T, protection: string, inUse: boolean): Plan<Action<T>> {
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  const isProtected = finalizers.includes(protection);
  const holding = (finalizers: string[]): T => ({ ...object, metadata: { ...object.metadata, finalizers } });
  if (deletionTimestamp === undefined)
    return { actions: isProtected ? [] : [{ kind: 'protect', object: holding([...finalizers, protection]) }] };
  if (inUse || !isProtected) return { actions: [] };
  return { actions: [{ kind: 'release', object: holding(finalizers.filter((one) => one !== protection)) }] };
}

/** Whether one of these pods of the claim's namespace uses it. */
export function isClaimUsed(claim: PersistentVolumeClaim, pods: readonly Pod[]): boolean {
  return pods.some((pod) => usesClaim(pod, claim));
}

/**
 * A pod without a node cannot start with a terminating claim, so it does not use it. A claim created for a pod is deleted before it when
 * the pod is deleted in the foreground, so a pod without running containers does not hold the claim.
 */
function usesClaim({ metadata, spec }: Pod, claim: PersistentVolumeClaim): boolean {
  if ((spec?.nodeName ?? '') === '') return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  const isShutDown = deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0;
  const isMadeForPod = controllerOf(claim)?.uid === metadata.uid;
  return (spec?.volumes ?? []).some(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim !== undefined) return persistentVolumeClaim.claimName === claim.metadata.name;
    const madeName = `${metadata.name ?? ''}-${name}`;
    return ephemeral !== undefined && !isShutDown && isMadeForPod && madeName === claim.metadata.name;
  });
}

export function isVolumeUsed(volume: PersistentVolume): boolean {
  return volume.status?.phase === 'Bound';
}

/** Classes that a claim has, requests or is being moved to. */
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
