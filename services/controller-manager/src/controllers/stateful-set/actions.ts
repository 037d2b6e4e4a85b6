import type {
  ControllerRevision,
  OwnerReference,
  PersistentVolumeClaim,
  Pod,
  StatefulSetStatus,
} from '@gantry/objects';

/** What the claims of a pod lack. */
export interface ClaimChanges {
  readonly create: readonly PersistentVolumeClaim[];
  readonly owners: readonly ClaimOwners[];
}

/** The owners that a claim is to have. */
export interface ClaimOwners {
  readonly claim: PersistentVolumeClaim;
  readonly owners: readonly OwnerReference[];
}

/** What is done to a pod and its claims. */
export type PodAction =
  /** The claims come first. */
  | { readonly kind: 'createPod'; readonly pod: Pod; readonly claims: ClaimChanges }
  /** Gives a running pod its identity, its volumes and its claims back. */
  | { readonly kind: 'repairPod'; readonly pod: Pod; readonly repaired: Pod | undefined; readonly claims: ClaimChanges }
  | { readonly kind: 'changeClaims'; readonly pod: Pod; readonly claims: ClaimChanges }
  | { readonly kind: 'deletePod'; readonly pod: Pod }
  /** A claim that the pod needs is being deleted, or controlled by something else: reported, nothing is written. */
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
