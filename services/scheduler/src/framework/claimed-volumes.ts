import {
  compareQuantity,
  findVolumeForNode,
  isBoundToClaim,
  type Node,
  NO_PROVISIONER,
  parseQuantity,
  type PersistentVolume,
  type PersistentVolumeClaim,
  reachesVolume,
  SELECTED_NODE,
  type StorageClass,
} from '@gantry/objects';

/** Kubernetes' plugin that binds volumes. */
export const VOLUME_BINDING = 'VolumeBinding';

/** A claim that is bound once a node is chosen, and the volumes of its class that it may get. */
export interface DelayedClaim {
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
  readonly volumes: readonly PersistentVolume[];
}

/** The volumes of a pod's claims at the moment of planning. */
export type ClaimedVolumes =
  /** No node fits as long as it is so: Kubernetes' reason. */
  | { readonly kind: 'conflict'; readonly reason: string }
  | {
      readonly kind: 'claims';
      /** Volumes of bound claims; undefined for those that do not exist. */
      readonly bound: readonly (PersistentVolume | undefined)[];
      readonly delayed: readonly DelayedClaim[];
      /** Whether another pod uses a claim that one pod alone may use. */
      readonly exclusive: 'free' | 'in-use';
    };

/** How delayed claims get their volumes on a node. */
export interface VolumeChoice {
  readonly bind: readonly { readonly claim: PersistentVolumeClaim; readonly volume: PersistentVolume }[];
  readonly provision: readonly PersistentVolumeClaim[];
}

/** Whether the pod must wait for its volumes after a node is chosen. */
export function hasDelayedClaims(volumes: ClaimedVolumes | undefined): boolean {
  return volumes?.kind === 'claims' && volumes.delayed.length > 0;
}

/** Kubernetes' reasons of VolumeBinding against a node; empty when all volumes are or can be there. */
export function volumeReasons(volumes: ClaimedVolumes, node: Node): readonly string[] {
  if (volumes.kind === 'conflict') return [volumes.reason];
  if (volumes.bound.some((volume) => volume === undefined))
    return ['node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)'];
  const reasons: string[] = [];
  if (volumes.bound.some((volume) => volume !== undefined && !reachesVolume(node, volume)))
    reasons.push("node(s) didn't match PersistentVolume's node affinity");
  if (chooseVolumes(volumes.delayed, node) === undefined)
    reasons.push("node(s) didn't find available persistent volumes to bind");
  return reasons;
}

/** Volumes that exist for the claims, the smallest claims first, and the claims for which one is to be made; undefined when neither goes. */
export function chooseVolumes(delayed: readonly DelayedClaim[], node: Node): VolumeChoice | undefined {
  const bind: VolumeChoice['bind'][number][] = [];
  const provision: PersistentVolumeClaim[] = [];
  const taken = new Set<PersistentVolume>();
  for (const { claim, storageClass, volumes } of [...delayed].sort(bySize)) {
    const selected = claim.metadata.annotations?.[SELECTED_NODE];
    if (selected !== undefined && selected !== node.metadata.name) return undefined;
    const free = volumes.filter((volume) => !taken.has(volume));
    const reaches = (volume: PersistentVolume) => reachesVolume(node, volume);
    const volume = selected === undefined ? findVolumeForNode(claim, free, reaches) : undefined;
    if (volume !== undefined) {
      taken.add(volume);
      bind.push({ claim, volume });
    } else if (canProvision(storageClass, node)) provision.push(claim);
    else return undefined;
  }
  return { bind, provision };
}

/** Whether all volumes of the claims are on their way to the node: what an earlier cycle began still stands. */
export function isUnderWay(delayed: readonly DelayedClaim[], nodeName: string): boolean {
  return delayed.every(
    ({ claim, volumes }) =>
      claim.metadata.annotations?.[SELECTED_NODE] === nodeName ||
      volumes.some((volume) => isBoundToClaim(volume, claim)),
  );
}

function bySize(a: DelayedClaim, b: DelayedClaim): number {
  return compareQuantity(requestOf(a), requestOf(b));
}

function requestOf({ claim }: DelayedClaim) {
  return parseQuantity(claim.spec?.resources?.requests?.['storage'] ?? '0');
}

function canProvision({ provisioner, allowedTopologies = [] }: StorageClass, { metadata }: Node): boolean {
  if (provisioner === '' || provisioner === NO_PROVISIONER) return false;
  if (allowedTopologies.length === 0) return true;
  const labels = metadata.labels ?? {};
  return allowedTopologies.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.every(({ key, values }) => values.includes(labels[key] ?? '')),
  );
}
