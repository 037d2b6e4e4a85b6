import { labelSelectorFrom, type Selector } from '../label-selectors/selector.ts';
import { compareQuantity, parseQuantity, type Quantity } from '../quantity.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../generated/types.ts';
import { classOfClaim, classOfVolume, isBoundToClaim } from './volume-binding.ts';

/**
 * The volume that Kubernetes' volume controller binds to a claim: one that is reserved for it, else the smallest available one that
 * satisfies it. Volumes with fewer access modes are tried first. With `reserved`, only reserved volumes are returned, because the scheduler
 * chooses among the others.
 */
export function findVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  choose: 'any' | 'reserved',
): PersistentVolume | undefined {
  const candidates = volumes.filter((volume) => hasAccessModes(volume, claim));
  for (const group of groupByModes(candidates)) {
    const found = smallestMatch(claim, group, (volume) => choose === 'any' || isBoundToClaim(volume, claim));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** As `findVolume` with `any`, among the volumes that are accessible from a node: the choice of Kubernetes' scheduler for a pod there. */
export function findVolumeForNode(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  reaches: (volume: PersistentVolume) => boolean,
): PersistentVolume | undefined {
  const mayUse = (volume: PersistentVolume) => hasAccessModes(volume, claim) || isBoundToClaim(volume, claim);
  return smallestMatch(claim, volumes.filter(mayUse), reaches);
}

/** Kubernetes' message why a volume cannot be bound to a claim that names it; undefined if it can. */
export function whyUnsatisfied(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  if (volume.metadata.deletionTimestamp !== undefined)
    return `the volume is marked for deletion ${JSON.stringify(volume.metadata.name)}`;
  if (compareQuantity(sizeOfVolume(volume), requestOf(claim)) < 0) return 'requested PV is too small';
  if (classOfVolume(volume) !== classOfClaim(claim)) return 'storageClassName does not match';
  if (!hasSameAttributes(volume, claim)) return 'volumeAttributesClassName does not match';
  if (!hasSameMode(volume, claim)) return 'incompatible volumeMode';
  return hasAccessModes(volume, claim) ? undefined : 'incompatible accessMode';
}

/** Whether both are file systems or both are block devices. */
export function hasSameMode(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return (volume.spec?.volumeMode ?? 'Filesystem') === (claim.spec?.volumeMode ?? 'Filesystem');
}

/** Volumes of equal sets of access modes, the smallest sets first. */
function groupByModes(volumes: readonly PersistentVolume[]): readonly (readonly PersistentVolume[])[] {
  const groups = new Map<string, PersistentVolume[]>();
  for (const volume of volumes) {
    const modes = [...new Set(volume.spec?.accessModes)].sort().join(',');
    const group = groups.get(modes);
    if (group === undefined) groups.set(modes, [volume]);
    else group.push(volume);
  }
  const count = (modes: string) => modes.split(',').length;
  return [...groups].sort(([a], [b]) => count(a) - count(b) || (a < b ? -1 : 1)).map(([, group]) => group);
}

/** A reserved volume has no substitute: if `mayUse` rejects it, there is no match. */
function smallestMatch(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  mayUse: (volume: PersistentVolume) => boolean,
): PersistentVolume | undefined {
  const request = requestOf(claim);
  const selector = claim.spec?.selector === undefined ? undefined : labelSelectorFrom(claim.spec.selector);
  let best: { readonly volume: PersistentVolume; readonly size: Quantity } | undefined;
  for (const volume of volumes) {
    const isReserved = isBoundToClaim(volume, claim);
    if (volume.spec?.claimRef !== undefined && !isReserved) continue;
    const size = sizeOfVolume(volume);
    if (compareQuantity(size, request) < 0 || !isUsable(volume, claim)) continue;
    if (isReserved) return mayUse(volume) ? volume : undefined;
    if (!isWanted(volume, claim, selector) || !mayUse(volume)) continue;
    if (best === undefined || compareQuantity(best.size, size) > 0) best = { volume, size };
  }
  return best?.volume;
}

function isUsable(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return (
    volume.metadata.deletionTimestamp === undefined && hasSameMode(volume, claim) && hasSameAttributes(volume, claim)
  );
}

function isWanted(volume: PersistentVolume, claim: PersistentVolumeClaim, selector: Selector | undefined): boolean {
  if (volume.status?.phase !== 'Available' || classOfVolume(volume) !== classOfClaim(claim)) return false;
  return selector === undefined || selector.matches(volume.metadata.labels);
}

function hasAccessModes(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const modes = volume.spec?.accessModes ?? [];
  return (claim.spec?.accessModes ?? []).every((mode) => modes.includes(mode));
}

function hasSameAttributes(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return (volume.spec?.volumeAttributesClassName ?? '') === (claim.spec?.volumeAttributesClassName ?? '');
}

function sizeOfVolume({ spec }: PersistentVolume): Quantity {
  return parseQuantity(spec?.capacity?.['storage'] ?? '0');
}

function requestOf({ spec }: PersistentVolumeClaim): Quantity {
  return parseQuantity(spec?.resources?.requests?.['storage'] ?? '0');
}
