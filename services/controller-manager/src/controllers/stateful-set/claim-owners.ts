import {
  controllerReference,
  equalJson,
  type KubeObject,
  type OwnerReference,
  type PersistentVolumeClaim,
  type Pod,
  type StatefulSet,
} from '@gantry/objects';
import { isInRange, ordinalOf, ordinalRange } from './identity.ts';

/** The retention of claims: `Delete` deletes them with the set, or when the set is scaled down below their pod. */
interface Retention {
  readonly whenDeleted: 'Delete' | 'Retain';
  readonly whenScaled: 'Delete' | 'Retain';
}

/** The set's policy; values other than `Delete` mean `Retain`. */
export function retentionOf({ spec }: StatefulSet): Retention {
  const { whenDeleted, whenScaled } = spec?.persistentVolumeClaimRetentionPolicy ?? {};
  return {
    whenDeleted: whenDeleted === 'Delete' ? 'Delete' : 'Retain',
    whenScaled: whenScaled === 'Delete' ? 'Delete' : 'Retain',
  };
}

/**
 * The owners that a claim should have by the set's policy, or undefined when they are right or the claim is not to be touched.
 * The garbage collector deletes a claim with its owner:
 *
 * - `whenDeleted: Delete`: the set owns the claim, as long as its pod is in range or scaling down retains claims
 * - `whenScaled: Delete`: the pod owns the claim when it is out of range
 *
 * A reference to a namesake of the set or the pod means that an earlier one is about to take the claim with it, so the claim is
 * left alone. Next to another controller, references to the set and the pod are removed, and none are added.
 */
export function claimOwners(
  claim: PersistentVolumeClaim,
  set: StatefulSet,
  pod: Pod,
): readonly OwnerReference[] | undefined {
  const references = claim.metadata.ownerReferences ?? [];
  if (isStale(claim, set) || isStale(claim, pod)) return undefined;
  const others = references.filter((reference) => !names(reference, set) && !names(reference, pod));
  const wanted = hasOtherController(claim, set, pod) ? others : [...others, ...ownersByPolicy(set, pod)];
  return equalJson(owners(wanted), owners(references)) ? undefined : wanted;
}

/** Owners of a new claim for a pod of the set. */
export function firstOwners(set: StatefulSet): readonly OwnerReference[] {
  return retentionOf(set).whenDeleted === 'Delete' ? [controllerReference(set)] : [];
}

/** Whether a claim is owned by an earlier object with the same name and kind as `owner`. */
export function isStale(claim: PersistentVolumeClaim, owner: KubeObject): boolean {
  return (claim.metadata.ownerReferences ?? []).some(
    (reference) => names(reference, owner) && reference.uid !== owner.metadata.uid,
  );
}

/** Whether the set's policy deletes claims, but another controller has this claim. */
export function hasOtherController(claim: PersistentVolumeClaim, set: StatefulSet, pod: Pod): boolean {
  const { whenDeleted, whenScaled } = retentionOf(set);
  if (whenDeleted === 'Retain' && whenScaled === 'Retain') return false;
  return (claim.metadata.ownerReferences ?? []).some(
    (reference) => !names(reference, set) && !names(reference, pod) && reference.controller === true,
  );
}

function ownersByPolicy(set: StatefulSet, pod: Pod): OwnerReference[] {
  const { whenDeleted, whenScaled } = retentionOf(set);
  const ordinal = ordinalOf(set, pod);
  const isCondemned = ordinal !== undefined && !isInRange(ordinal, ordinalRange(set));
  if (whenScaled === 'Delete' && isCondemned) return [controllerReference(pod)];
  return whenDeleted === 'Delete' ? [controllerReference(set)] : [];
}

function names({ apiVersion, kind, name }: OwnerReference, object: KubeObject): boolean {
  return apiVersion === object.apiVersion && kind === object.kind && name === object.metadata.name;
}

/** The relevant parts of owner references: the uid, and whether it controls. */
function owners(references: readonly OwnerReference[]): readonly string[] {
  return references.map(({ uid, controller = false }) => `${uid} ${controller}`).sort();
}
