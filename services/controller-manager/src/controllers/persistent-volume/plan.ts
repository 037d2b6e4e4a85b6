import type { Plan } from '@gantry/base';
import {
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  classOfClaim,
  findVolume,
  hasSameMode,
  isBoundToClaim,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PROVISIONED_BY,
  requestedClassOf,
  SELECTED_NODE,
  STORAGE_PROVISIONER,
  type StorageClass,
  waitsForConsumer,
  whyUnsatisfied,
} from '@gantry/objects';
import { type Action as VolumeAction, eventAbout } from './action.ts';
import { planBinding, planClaimStatus, planPhase, planUnbinding } from './bind.ts';
import { migratedAnnotations, planProvisioning } from './provision.ts';
import { planReclaim, withProvisionerMarks } from './reclaim.ts';
import type { Recycler } from './recycle.ts';

export type Action = VolumeAction;

/** A claim and the objects that affect it. */
export interface ObservedClaim {
  readonly claim: PersistentVolumeClaim;
  /** The volume that the claim names. */
  readonly volume: PersistentVolume | undefined;
  /** Volumes of its class without a claim, and those that refer to it. */
  readonly candidates: readonly PersistentVolume[];
  /** The class that it names. */
  readonly storageClass: StorageClass | undefined;
  readonly defaultClass: StorageClass | undefined;
  /** Names of pods without a node that use it. */
  readonly unscheduledPods: readonly string[];
}

/** The next steps for a claim, as Kubernetes' volume controller takes them at every change. */
export function planClaim(observed: ObservedClaim): Plan<Action> {
  const { claim } = observed;
  const annotations = claim.metadata.annotations ?? {};
  const marked = migratedAnnotations(annotations, annotations[STORAGE_PROVISIONER]);
  if (marked !== annotations) {
    const metadata = { ...claim.metadata, annotations: { ...marked } };
    return { actions: [{ kind: 'updateClaim', claim: { ...claim, metadata } }] };
  }
  if (annotations[BIND_COMPLETED] !== undefined) return { actions: planBoundClaim(observed) };
  if (claim.metadata.deletionTimestamp !== undefined) return { actions: planEndingClaim(observed) };
  const isNamed = (claim.spec?.volumeName ?? '') !== '';
  return { actions: isNamed ? planNamedVolume(observed) : planUnboundClaim(observed) };
}

/**
 * A claim that is being deleted gets no volume. Only a binding in progress is completed, because its pods may be starting. Kubernetes binds
 * such a claim, and its volume is then released and never available again.
 */
function planEndingClaim({ claim, candidates, volume }: ObservedClaim): readonly Action[] {
  const begun = [...candidates, ...(volume === undefined ? [] : [volume])].find(
    ({ spec }) => claim.metadata.uid !== undefined && spec?.claimRef?.uid === claim.metadata.uid,
  );
  return begun === undefined ? [] : planBinding(begun, claim);
}

/** A claim without a volume name: finds a volume, or requests one from a provisioner. */
function planUnboundClaim(observed: ObservedClaim): readonly Action[] {
  const { claim, candidates, storageClass, defaultClass } = observed;
  const waits = waitsForConsumer(storageClass);
  const found = findVolume(claim, candidates, waits ? 'reserved' : 'any');
  if (found !== undefined) return planBinding(found, claim);
  const { name: defaultName } = defaultClass?.metadata ?? {};
  if (requestedClassOf(claim) === undefined && defaultName !== undefined) {
    return [{ kind: 'updateClaim', claim: { ...claim, spec: { ...claim.spec, storageClassName: defaultName } } }];
  }
  const className = classOfClaim(claim);
  const isSelected = claim.metadata.annotations?.[SELECTED_NODE] !== undefined;
  const pending = planClaimStatus(claim, 'Pending', undefined);
  if (waits && !isSelected) return [waitEvent(observed), ...pending];
  if (className !== '') return planProvisioning(claim, className, storageClass);
  const message = 'no persistent volumes available for this claim and no storage class is set';
  return [eventAbout(claim, 'Normal', 'FailedBinding', message), ...pending];
}

function waitEvent({ claim, unscheduledPods }: ObservedClaim): Action {
  if (unscheduledPods.length === 0) {
    const message = 'waiting for first consumer to be created before binding';
    return eventAbout(claim, 'Normal', 'WaitForFirstConsumer', message);
  }
  const pods = `${unscheduledPods.length > 1 ? 'pods' : 'pod'} ${unscheduledPods.join(',')}`;
  return eventAbout(claim, 'Normal', 'WaitForPodScheduled', `waiting for ${pods} to be scheduled`);
}

/** A claim that names its volume and is not bound yet. */
function planNamedVolume({ claim, volume }: ObservedClaim): readonly Action[] {
  const pending = planClaimStatus(claim, 'Pending', undefined);
  if (volume === undefined) return pending;
  const name = JSON.stringify(volume.metadata.name);
  if (volume.spec?.claimRef === undefined) {
    const why = whyUnsatisfied(volume, claim);
    if (why === undefined) return planBinding(volume, claim);
    const message = `Cannot bind to requested volume ${name}: ${why}`;
    return [eventAbout(claim, 'Warning', 'VolumeMismatch', message), ...pending];
  }
  if (isBoundToClaim(volume, claim)) return planBinding(volume, claim);
  const taken = eventAbout(claim, 'Warning', 'FailedBinding', `volume ${name} already bound to a different claim.`);
  // A claim that a controller bound but that lost its annotation is left to its owner.
  return claim.metadata.annotations?.[BOUND_BY_CONTROLLER] === undefined ? [taken, ...pending] : [taken];
}

/** A claim that was bound before: stays bound, or is reported as lost. */
function planBoundClaim({ claim, volume }: ObservedClaim): readonly Action[] {
  const lost = (reason: string, message: string): readonly Action[] =>
    claim.status?.phase === 'Lost'
      ? []
      : [...planClaimStatus(claim, 'Lost', undefined), eventAbout(claim, 'Warning', reason, message)];
  if ((claim.spec?.volumeName ?? '') === '')
    return lost('ClaimLost', 'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!');
  if (volume === undefined)
    return lost('ClaimLost', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!');
  const reference = volume.spec?.claimRef;
  if (reference === undefined || reference.uid === claim.metadata.uid) return planBinding(volume, claim);
  return lost('ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly');
}

/** A volume and the objects that affect it. */
export interface ObservedVolume {
  readonly volume: PersistentVolume;
  /** The claim with the uid in its reference. The store is read if the cache does not have it. */
  readonly claim: PersistentVolumeClaim | undefined;
  /** `namespace/name` of pods that have not ended and use a claim with the name in its reference. */
  readonly users: readonly string[];
  /** The pod that empties a volume whose claim is gone; undefined if none is needed. */
  readonly recycler?: Recycler;
}

/** Sets the phase of a volume, and reclaims one whose claim is gone. */
export function planVolume(observed: ObservedVolume): Plan<Action> {
  const marked = withProvisionerMarks(observed.volume);
  if (marked !== observed.volume) return { actions: [{ kind: 'updateVolume', volume: marked }] };
  const { recycler } = observed;
  const actions = planReference(observed);
  return recycler?.kind === 'failed' ? { actions, requeueAt: recycler.nextAt } : { actions };
}

function planReference({ volume, claim, users, recycler = NO_RECYCLER }: ObservedVolume): readonly Action[] {
  const { claimRef } = volume.spec ?? {};
  if ((claimRef?.uid ?? '') === '') return planPhase(volume, 'Available');
  const remains = { users, recycler };
  if (claim === undefined) return planReclaim(volume, remains);
  const { volumeName = '' } = claim.spec ?? {};
  if (volumeName === volume.metadata.name) return planPhase(volume, 'Bound');
  // The claim's reconcile completes the binding.
  if (volumeName === '') return hasSameMode(volume, claim) ? [] : mismatchEvents(volume, claim);
  const isProvisioned = volume.metadata.annotations?.[PROVISIONED_BY] !== undefined;
  if (isProvisioned && volume.spec?.persistentVolumeReclaimPolicy === 'Delete') return planReclaim(volume, remains);
  return planUnbinding(volume);
}

const NO_RECYCLER: Recycler = { kind: 'none' };

function mismatchEvents(volume: PersistentVolume, claim: PersistentVolumeClaim): readonly Action[] {
  const [volumeName, claimName] = [JSON.stringify(volume.metadata.name), JSON.stringify(claim.metadata.name)];
  const why = 'due to incompatible volumeMode.';
  return [
    eventAbout(
      volume,
      'Warning',
      'VolumeMismatch',
      `Cannot bind PersistentVolume to requested PersistentVolumeClaim ${claimName} ${why}`,
    ),
    eventAbout(
      claim,
      'Warning',
      'VolumeMismatch',
      `Cannot bind PersistentVolume ${volumeName} to requested PersistentVolumeClaim ${why}`,
    ),
  ];
}
