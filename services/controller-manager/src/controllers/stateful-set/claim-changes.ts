import { keyOf, type ObjectKey, type PersistentVolumeClaim, type Pod, type StatefulSet } from '@gantry/objects';
import type { ClaimChanges } from './actions.ts';
import { claimOwners, firstOwners, hasOtherController, isStale, retentionOf } from './claim-owners.ts';
import { newClaims } from './claims.ts';

/** Looks a claim up among the observed ones. */
export type FindClaim = (key: ObjectKey) => PersistentVolumeClaim | undefined;

/** The claims of one pod: what they lack, and what stands in the way. */
export interface PodClaims {
  readonly changes: ClaimChanges;
  /** Claims that are being deleted: the pod has to wait until they are gone. */
  readonly terminating: readonly string[];
  /** Claims of an earlier pod of the same name, which go with it: a new pod has to wait for that. */
  readonly isStale: boolean;
  /** Claims that another controller has. */
  readonly conflicting: readonly string[];
}

/** Compares the claims of a pod with the templates and the retention policy of its set. */
export function claimsOf(set: StatefulSet, pod: Pod, ordinal: number, find: FindClaim): PodClaims {
  const wanted = newClaims(set, ordinal).map((claim) => ({ claim, existing: find(keyOf(claim)) }));
  const existing = wanted.flatMap((of) => (of.existing === undefined ? [] : [of.existing]));
  const named = (claims: readonly PersistentVolumeClaim[]) => claims.map(({ metadata }) => metadata.name ?? '');
  return {
    changes: {
      create: wanted.filter((of) => of.existing === undefined).map(({ claim }) => withFirstOwners(claim, set)),
      owners: existing.flatMap((claim) => {
        const owners = claimOwners(claim, set, pod);
        return owners === undefined ? [] : [{ claim, owners }];
      }),
    },
    terminating: named(existing.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)),
    isStale: retentionOf(set).whenScaled === 'Delete' && existing.some((claim) => isStale(claim, pod)),
    conflicting: named(existing.filter((claim) => hasOtherController(claim, set, pod))),
  };
}

export function isEmpty({ create, owners }: ClaimChanges): boolean {
  return create.length === 0 && owners.length === 0;
}

function withFirstOwners(claim: PersistentVolumeClaim, set: StatefulSet): PersistentVolumeClaim {
  const owners = firstOwners(set);
  if (owners.length === 0) return claim;
  return { ...claim, metadata: { ...claim.metadata, ownerReferences: [...owners] } };
}
