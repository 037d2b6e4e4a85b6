import {
  controllerOf,
  controllerReference,
  type KubeObject,
  type LabelSelector,
  labelSelectorFrom,
  type Selector,
} from '@gantry/objects';

/** Objects sorted for an owner that selects by label. */
export interface Ownership<T> {
  /** Controlled by the owner and selected. */
  readonly owned: readonly T[];
  /** Selected, without a controller: to be adopted. Not part of `owned` yet. */
  readonly adopt: readonly T[];
  /** Controlled by the owner but no longer selected: to be released. */
  readonly release: readonly T[];
}

/**
 * Sorts `candidates` (of the owner's namespace) into owned, to adopt and to release. An owner that is being deleted
 * adopts and releases nothing; an object that is being deleted is not adopted.
 */
export function claimObjects<T extends KubeObject>(
  owner: KubeObject,
  candidates: readonly T[],
  selects: (labels: Record<string, string> | undefined) => boolean,
): Ownership<T> {
  const owned: T[] = [];
  const adopt: T[] = [];
  const release: T[] = [];
  const leaving = owner.metadata.deletionTimestamp !== undefined;
  for (const candidate of candidates) {
    const controller = controllerOf(candidate);
    const selected = selects(candidate.metadata.labels);
    if (controller !== undefined) {
      if (controller.uid !== owner.metadata.uid) continue;
      if (selected) owned.push(candidate);
      else if (!leaving && candidate.metadata.deletionTimestamp === undefined) release.push(candidate);
    } else if (selected && !leaving && candidate.metadata.deletionTimestamp === undefined) {
      adopt.push(candidate);
    }
  }
  return { owned, adopt, release };
}

/** A strategic merge patch that makes `owner` the controller. The uid protects another object with the same name. */
export function adoptionPatch(object: KubeObject, owner: KubeObject): object {
  return { metadata: { uid: object.metadata.uid, ownerReferences: [controllerReference(owner)] } };
}

/** A strategic merge patch that removes `owner` from the object's owners. */
export function releasePatch(object: KubeObject, owner: KubeObject): object {
  return { metadata: { uid: object.metadata.uid, ownerReferences: [{ $patch: 'delete', uid: owner.metadata.uid }] } };
}

/** An object that selects the objects it owns by label: a Deployment, a ReplicaSet. A ReplicationController has a map of labels. */
export interface SelectingOwner extends KubeObject {
  spec?: { selector?: LabelSelector | Record<string, string> };
}

const SELECTORS = new WeakMap<KubeObject, Selector>();

/** The selector of a cached owner, parsed once, because cached objects never change. Without a selector it matches nothing. */
export function selectorOf(owner: SelectingOwner): Selector {
  const known = SELECTORS.get(owner);
  if (known !== undefined) return known;
  const given = owner.spec?.selector;
  const isMap = owner.kind === 'ReplicationController' && given !== undefined;
  const selector = labelSelectorFrom(isMap ? { matchLabels: given as Record<string, string> } : given);
  SELECTORS.set(owner, selector);
  return selector;
}
