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

/** The name of Kubernetes' plugin that binds volumes. */
export const VOLUME_BINDING = 'VolumeBinding';

/** A claim that is bound only after a node was chosen, with the volumes of its class that it could get. */
export interface DelayedClaim {
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
  readonly volumes: readonly PersistentVolume[];
}

/** The volumes of a pod's claims when a cycle plans. */
export type ClaimedVolumes =
  /** No node fits as long as this lasts. `reason` is Kubernetes' text for it. */
  | { readonly kind: 'conflict'; readonly reason: string }
  | {
      readonly kind: 'claims';
      /** The volumes of bound claims. A volume that does not exist is undefined. */
      readonly bound: readonly (PersistentVolume | undefined)[];
      readonly delayed: readonly DelayedClaim[];
      /** Whether another pod uses a claim of this pod that only one pod may use at a time. */
      readonly exclusive: 'free' | 'in-use';
    };

/** How the delayed claims get their volumes on a node: which existing volumes are bound, and for which claims a volume is made. */
export interface VolumeChoice {
  readonly bind: readonly { readonly claim: PersistentVolumeClaim; readonly volume: PersistentVolume }[];
  readonly provision: readonly PersistentVolumeClaim[];
}

/** Whether the pod has to wait for its volumes after a node was chosen. */
export function hasDelayedClaims(volumes: ClaimedVolumes | undefined): boolean {
  return volumes?.kind === 'claims' && volumes.delayed.length > 0;
}

/**
 * The reasons that Kubernetes' VolumeBinding has against a node. The list is empty when each volume is reachable from the node or can be
 * made there.
 */
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

/**
 * Chooses existing volumes for the claims, the smallest claims first, and lists the claims that need a new volume. Returns undefined when a
 * claim can have neither.
 */
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

/** Whether the volumes of all claims are already being bound or made for the node, so that the work of an earlier cycle is still valid. */
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
