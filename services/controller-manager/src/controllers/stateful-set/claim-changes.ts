import { type ObjectKey, type PersistentVolumeClaim, type Pod, type StatefulSet } from '@gantry/objects';
import type { ClaimChanges } from './actions.ts';
import { claimOwners, firstOwners, hasOtherController, isStale, retentionOf } from './claim-owners.ts';
import { claimName, claimTemplates, newClaim } from './claims.ts';

/** Looks a claim up among the observed ones. */
export type FindClaim = (key: ObjectKey) => PersistentVolumeClaim | undefined;

/** The needed changes of one pod's claims, and obstacles. */
export interface PodClaims {
  readonly changes: ClaimChanges;
  /** Claims that are being deleted; the pod must wait until they are gone. */
  readonly terminating: readonly string[];
  /** Whether claims belong to an earlier pod with the same name and will be deleted with it; a new pod must wait for that. */
  readonly isStale: boolean;
  /** Claims with another controller. */
  readonly conflicting: readonly string[];
}

/** Compares the claims of a pod with the templates and the retention policy of its set. */
export function claimsOf(set: StatefulSet, pod: Pod, ordinal: number, find: FindClaim): PodClaims {
  const { namespace = '' } = set.metadata;
  const existing: PersistentVolumeClaim[] = [];
  const create: PersistentVolumeClaim[] = [];
  for (const template of claimTemplates(set)) {
    const claim = find({ namespace, name: claimName(set, template, ordinal) });
    if (claim === undefined) create.push(withFirstOwners(newClaim(set, template, ordinal), set));
    else existing.push(claim);
  }
  const owners = existing.flatMap((claim) => {
    const wanted = claimOwners(claim, set, pod);
    return wanted === undefined ? [] : [{ claim, owners: wanted }];
  });
  return {
    changes: { create, owners },
    terminating: named(existing.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)),
    isStale: retentionOf(set).whenScaled === 'Delete' && existing.some((claim) => isStale(claim, pod)),
    conflicting: named(existing.filter((claim) => hasOtherController(claim, set, pod))),
  };
}

function named(claims: readonly PersistentVolumeClaim[]): readonly string[] {
  return claims.map(({ metadata }) => metadata.name ?? '');
}

export function isEmpty({ create, owners }: ClaimChanges): boolean {
  return create.length === 0 && owners.length === 0;
}

function withFirstOwners(claim: PersistentVolumeClaim, set: StatefulSet): PersistentVolumeClaim {
  const owners = firstOwners(set);
  if (owners.length === 0) return claim;
  return { ...claim, metadata: { ...claim.metadata, ownerReferences: [...owners] } };
}
