import type {
  ControllerRevision,
  OwnerReference,
  PersistentVolumeClaim,
  Pod,
  StatefulSetStatus,
} from '@gantry/objects';

/** The changes that the claims of a pod need. */
export interface ClaimChanges {
  readonly create: readonly PersistentVolumeClaim[];
  readonly owners: readonly ClaimOwners[];
}

/** A claim and the owners that it should have. */
export interface ClaimOwners {
  readonly claim: PersistentVolumeClaim;
  readonly owners: readonly OwnerReference[];
}

/** An action on a pod and its claims. */
export type PodAction =
  /** Claims are created before the pod. */
  | { readonly kind: 'createPod'; readonly pod: Pod; readonly claims: ClaimChanges }
  /** Restores the identity, volumes and claims of a running pod. */
  | { readonly kind: 'repairPod'; readonly pod: Pod; readonly repaired: Pod | undefined; readonly claims: ClaimChanges }
  | { readonly kind: 'changeClaims'; readonly pod: Pod; readonly claims: ClaimChanges }
  | { readonly kind: 'deletePod'; readonly pod: Pod }
  /** Reports that a claim of the pod is being deleted or has another controller; nothing is written. */
  | { readonly kind: 'report'; readonly reason: 'FailedCreate' | 'ConflictingController'; readonly message: string };

export type Action =
  | { readonly kind: 'adoptRevision'; readonly revision: ControllerRevision }
  | { readonly kind: 'adoptPod'; readonly pod: Pod }
  | { readonly kind: 'releasePod'; readonly pod: Pod }
  | { readonly kind: 'createRevision'; readonly revision: ControllerRevision }
  | { readonly kind: 'renumberRevision'; readonly revision: ControllerRevision; readonly number: number }
  | PodAction
  | { readonly kind: 'updateStatus'; readonly status: StatefulSetStatus }
  | { readonly kind: 'deleteRevision'; readonly revision: ControllerRevision };

const POD_ACTIONS: ReadonlySet<string> = new Set<PodAction['kind']>([
  'createPod',
  'repairPod',
  'changeClaims',
  'deletePod',
  'report',
]);

export function isPodAction(action: Action): action is PodAction {
  return POD_ACTIONS.has(action.kind);
}
