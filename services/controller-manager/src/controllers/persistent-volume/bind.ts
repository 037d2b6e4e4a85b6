import {
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  compareQuantity,
  equalJson,
  isBoundToClaim,
  parseQuantity,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from '@gantry/objects';
import type { Write } from './action.ts';

/** On volumes whose file system has not been expanded yet: its current size. */
const PRE_RESIZE_CAPACITY = 'volume.alpha.kubernetes.io/pre-resize-capacity';

/**
 * The missing writes of a binding, in order: the volume's reference, its phase, the claim's reference, its status. After any of them, a
 * later plan yields the rest.
 */
export function planBinding(volume: PersistentVolume, claim: PersistentVolumeClaim): readonly Write[] {
  const bound = boundVolume(volume, claim);
  const named = boundClaim(claim, volume);
  return [
    ...(bound === volume ? [] : [{ kind: 'updateVolume' as const, volume: bound }]),
    ...planPhase(bound, 'Bound'),
    ...(named === claim ? [] : [{ kind: 'updateClaim' as const, claim: named }]),
    ...planClaimStatus(named, 'Bound', volume),
  ];
}

/** Removes the volume's side of a binding. A volume that its creator reserved keeps the claim's name in its reference. */
export function planUnbinding(volume: PersistentVolume): readonly Write[] {
  const { claimRef, ...spec } = volume.spec ?? {};
  const { [BOUND_BY_CONTROLLER]: byController, ...annotations } = volume.metadata.annotations ?? {};
  const { uid: _, ...reserved } = claimRef ?? {};
  const unbound =
    byController === undefined
      ? { ...volume, spec: { ...spec, claimRef: reserved } }
      : { ...volume, metadata: { ...volume.metadata, annotations }, spec };
  return [{ kind: 'updateVolume', volume: unbound }, ...planPhase(unbound, 'Available')];
}

/** Writes the phase of a volume if it differs. */
export function planPhase(volume: PersistentVolume, phase: string, message?: string): readonly Write[] {
  if (volume.status?.phase === phase) return [];
  const { message: _, ...status } = volume.status ?? {};
  const next = { ...status, phase, message };
  return [{ kind: 'updateVolumeStatus', volume: { ...volume, status: next } }];
}

/**
 * Writes the status of a claim if it differs. A bound claim shows the data of its volume; its capacity is only set at binding, because
 * later differences come from resizing.
 */
export function planClaimStatus(
  claim: PersistentVolumeClaim,
  phase: 'Pending' | 'Bound' | 'Lost',
  volume: PersistentVolume | undefined,
): readonly Write[] {
  const { status = {} } = claim;
  const { accessModes: _modes, capacity: _capacity, currentVolumeAttributesClassName: _class, ...rest } = status;
  const next = volume === undefined ? { ...rest, phase } : boundStatus(status, phase, volume);
  return equalJson(status, next) ? [] : [{ kind: 'updateClaimStatus', claim: { ...claim, status: next } }];
}

function boundStatus(
  status: NonNullable<PersistentVolumeClaim['status']>,
  phase: string,
  { metadata, spec }: PersistentVolume,
): PersistentVolumeClaim['status'] {
  const { accessModes: _, ...rest } = status;
  const next = { ...rest, phase, accessModes: spec?.accessModes };
  if (status.phase === phase) return next;
  const { currentVolumeAttributesClassName, ...others } = next;
  const preResize = metadata.annotations?.[PRE_RESIZE_CAPACITY];
  const attributes = status.phase === 'Pending' ? spec?.volumeAttributesClassName : currentVolumeAttributesClassName;
  return {
    ...others,
    ...capacityOf(status.capacity, spec?.capacity, preResize),
    currentVolumeAttributesClassName: attributes,
  };
}

type Amounts = Record<string, string> | undefined;

function capacityOf(claim: Amounts, volume: Amounts, preResize: string | undefined): { readonly capacity?: Amounts } {
  if (preResize !== undefined) return { capacity: { ...claim, storage: preResize } };
  const [old, size] = [claim?.['storage'], volume?.['storage']];
  if (size === undefined) return {};
  if (old !== undefined && compareQuantity(parseQuantity(old), parseQuantity(size)) === 0) return { capacity: claim };
  return { capacity: volume };
}

function boundVolume(volume: PersistentVolume, claim: PersistentVolumeClaim): PersistentVolume {
  const reference = volume.spec?.claimRef;
  const isReserved = isBoundToClaim(volume, claim);
  const { name, namespace, uid, resourceVersion } = claim.metadata;
  if (isReserved && reference?.uid === uid) return volume;
  const claimRef = { kind: 'PersistentVolumeClaim', apiVersion: 'v1', namespace, name, uid, resourceVersion };
  const bound = { ...volume, spec: { ...volume.spec, claimRef } };
  return isReserved ? bound : withAnnotation(bound, BOUND_BY_CONTROLLER);
}

function boundClaim(claim: PersistentVolumeClaim, volume: PersistentVolume): PersistentVolumeClaim {
  const { name = '' } = volume.metadata;
  const isNamed = claim.spec?.volumeName === name;
  const named = isNamed
    ? claim
    : withAnnotation({ ...claim, spec: { ...claim.spec, volumeName: name } }, BOUND_BY_CONTROLLER);
  return withAnnotation(named, BIND_COMPLETED);
}

/** The object with the annotation; the same object if it already has it. */
function withAnnotation<T extends PersistentVolume | PersistentVolumeClaim>(object: T, annotation: string): T {
  const { annotations } = object.metadata;
  if (annotations?.[annotation] !== undefined) return object;
  return { ...object, metadata: { ...object.metadata, annotations: { ...annotations, [annotation]: 'yes' } } };
}
