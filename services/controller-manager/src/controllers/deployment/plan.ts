import type { Instant, Plan } from '@gantry/base';
import {
  type Deployment,
  type DeploymentCondition,
  type DeploymentStatus,
  equalJson,
  hasEnded,
  type Pod,
  type ReplicaSet,
} from '@gantry/objects';
import { claimObjects, selectorOf } from '../../libraries/ownership.ts';
import { byRevision, newSetAnnotations, REVISION, revisionAfter, sizeAnnotationsDiffer } from './annotations.ts';
import { conditionOf, type ConditionValue, setCondition } from './conditions.ts';
import { deadlineOf, hasProgressDeadline, isComplete } from './progress.ts';
import { byAge, desiredReplicas, findNewSet, newReplicaSet, rollingBounds, sum } from './replica-sets.ts';
import { type Rollback, rollBack, rollbackRequest } from './rollback.ts';
import { isScaling, proportionalSizes, type Resize, rollingSizes } from './scaling.ts';
import { countedStatus, rolloutStatus } from './status.ts';

/**
 * The input of the plan: the Deployment, the sets in its namespace that it controls or may select, and the pods of the sets that it
 * controls.
 */
export interface ObservedDeployment {
  readonly deployment: Deployment;
  readonly replicaSets: readonly ReplicaSet[];
  readonly pods: readonly Pod[];
}

export type Action =
  | { readonly kind: 'adopt'; readonly set: ReplicaSet }
  | { readonly kind: 'release'; readonly set: ReplicaSet }
  | { readonly kind: 'createSet'; readonly set: ReplicaSet }
  /** Annotations and minReadySeconds of the new set follow the Deployment. */
  | {
      readonly kind: 'annotateSet';
      readonly set: ReplicaSet;
      readonly annotations: Record<string, string>;
      readonly minReadySeconds: number;
    }
  | { readonly kind: 'resizeSet'; readonly set: ReplicaSet; readonly replicas: number }
  | { readonly kind: 'deleteSet'; readonly set: ReplicaSet }
  | { readonly kind: 'rollBack'; readonly rollback: Rollback }
  /** A selector that selects everything is a user error and is only reported. */
  | { readonly kind: 'reportSelectingAll' }
  | { readonly kind: 'updateStatus'; readonly status: DeploymentStatus; readonly revision: string | undefined };

/** Condition times are truncated to seconds, so the deadline may pass up to a second later than it appears. */
const ROUNDING_MS = 1000;

/** The state of one planning run: the sorted observation, and the conditions as they are rewritten. */
interface DeploymentDraft {
  readonly deployment: Deployment;
  readonly newSet: ReplicaSet | undefined;
  readonly old: readonly ReplicaSet[];
  readonly all: readonly ReplicaSet[];
  readonly pods: readonly Pod[];
  readonly now: Instant;
  conditions: readonly DeploymentCondition[];
  revision: string | undefined;
  actions: Action[];
}

/**
 * Actions that move the sets one step toward the Deployment's spec, as Kubernetes' deployment controller does: a set for the template,
 * sizes within the surge and unavailability limits, history, and status. Repeatedly executing and planning ends with no action.
 */
export function planDeployment(observed: ObservedDeployment, now: Instant): Plan<Action> {
  const { deployment } = observed;
  const selector = selectorOf(deployment);
  if (selector.empty) return { actions: refuseSelector(deployment) };
  const ownership = claimObjects(deployment, observed.replicaSets, (labels) => selector.matches(labels));
  const draft = startDraft(observed, [...ownership.owned, ...ownership.adopt], now);
  for (const set of ownership.adopt) draft.actions.push({ kind: 'adopt', set });
  for (const set of ownership.release) draft.actions.push({ kind: 'release', set });
  // Adopted sets must be visible as ours before they are changed.
  if (ownership.adopt.length > 0) return { actions: draft.actions };
  if (deployment.metadata.deletionTimestamp !== undefined) finish(draft, countedStatus(draft));
  else {
    notePause(draft);
    const request = rollbackRequest(deployment);
    if (deployment.spec?.paused === true) planScaling(draft);
    else if (request !== undefined) planRollback(draft, request);
    else if (isScaling(deployment, draft.all)) planScaling(draft);
    else if (deployment.spec?.strategy?.type === 'Recreate') planRecreate(draft);
    else planRolling(draft);
  }
  const deadline = deadlineOf(deployment, draft.conditions);
  return { actions: draft.actions, requeueAt: deadline === undefined ? undefined : deadline + ROUNDING_MS };
}

function refuseSelector({ metadata, status }: Deployment): Action[] {
  const { generation } = metadata;
  if (generation === undefined || (status?.observedGeneration ?? 0) >= generation)
    return [{ kind: 'reportSelectingAll' }];
  const observed = { ...status, observedGeneration: generation };
  return [{ kind: 'reportSelectingAll' }, { kind: 'updateStatus', status: observed, revision: undefined }];
}

function startDraft(observed: ObservedDeployment, all: readonly ReplicaSet[], now: Instant): DeploymentDraft {
  const newSet = findNewSet(observed.deployment, all);
  return {
    deployment: observed.deployment,
    newSet,
    old: all.filter((set) => set !== newSet),
    all,
    pods: observed.pods,
    now,
    conditions: observed.deployment.status?.conditions ?? [],
    revision: observed.deployment.metadata.annotations?.[REVISION],
    actions: [],
  };
}

/** Records pausing and resuming, so that the progress deadline does not run while paused. */
function notePause(draft: DeploymentDraft): void {
  if (!hasProgressDeadline(draft.deployment)) return;
  const current = conditionOf(draft.conditions, 'Progressing');
  if (current?.reason === 'ProgressDeadlineExceeded') return;
  const paused = draft.deployment.spec?.paused === true;
  const notedPaused = current?.reason === 'DeploymentPaused';
  if (paused === notedPaused) return;
  const value: ConditionValue = paused
    ? { type: 'Progressing', status: 'Unknown', reason: 'DeploymentPaused', message: 'Deployment is paused' }
    : { type: 'Progressing', status: 'Unknown', reason: 'DeploymentResumed', message: 'Deployment is resumed' };
  draft.conditions = setCondition(draft.conditions, value, draft.now);
}

function planScaling(draft: DeploymentDraft): void {
  syncNewSet(draft);
  resize(draft, proportionalSizes(draft.deployment, draft.newSet, draft.old), draft.all);
  if (draft.deployment.spec?.paused === true && rollbackRequest(draft.deployment) === undefined) cleanHistory(draft);
  finish(draft, countedStatus(draft));
}

/** A rollback needs a set with the current template, so that the current revision can be restored later. */
function planRollback(draft: DeploymentDraft, request: bigint): void {
  if (ensureNewSet(draft) === undefined) finish(draft, countedStatus(draft));
  else draft.actions.push({ kind: 'rollBack', rollback: rollBack(draft.deployment, draft.all, request) });
}

function planRecreate(draft: DeploymentDraft): void {
  // Revision and annotations of an existing new set are updated before sizes.
  if (syncNewSet(draft)) return finish(draft, rollout(draft));
  const down = draft.old.filter((set) => (set.spec?.replicas ?? 0) > 0).map((set) => ({ set, replicas: 0 }));
  if (down.length > 0) {
    resize(draft, down, []);
  } else if (!oldPodsRun(draft)) {
    const stage = ensureNewSet(draft);
    const desired = desiredReplicas(draft.deployment);
    if (stage !== undefined && (stage.spec?.replicas ?? 0) !== desired)
      resize(draft, [{ set: stage, replicas: desired }], []);
    else cleanWhenComplete(draft);
  }
  finish(draft, rollout(draft));
}

function planRolling(draft: DeploymentDraft): void {
  const newSet = ensureNewSet(draft);
  if (newSet !== undefined) {
    const sizes = rollingSizes(draft.deployment, newSet, draft.old);
    resize(draft, sizes, []);
    if (sizes.length === 0) cleanWhenComplete(draft);
  }
  finish(draft, rollout(draft));
}

/**
 * Whether pods of other sets than the new one may still run, including terminating ones. Both sets and pods are checked: the cache may not
 * show the last pods that a set has created.
 */
function oldPodsRun(draft: DeploymentDraft): boolean {
  const isDown = ({ metadata, status }: ReplicaSet): boolean =>
    (status?.replicas ?? 0) === 0 && (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  if (!draft.old.every(isDown)) return true;
  const newUid = draft.newSet?.metadata.uid;
  return draft.pods.some(
    (pod) =>
      !hasEnded(pod) &&
      !(pod.metadata.ownerReferences ?? []).some((owner) => owner.controller === true && owner.uid === newUid),
  );
}

/** The new set if it exists and is up to date; otherwise plans the change and returns undefined. */
function ensureNewSet(draft: DeploymentDraft): ReplicaSet | undefined {
  if (draft.newSet !== undefined) return syncNewSet(draft) ? undefined : draft.newSet;
  const revision = revisionAfter(draft.old);
  const set = newReplicaSet(draft.deployment, draft.all, revision);
  draft.actions.push({ kind: 'createSet', set });
  draft.revision = String(revision);
  noteProgress(draft, 'NewReplicaSetCreated', `Created new replica set "${set.metadata.name ?? ''}"`);
  return undefined;
}

/** Plans missing updates of the new set's revision, annotations and minReadySeconds. Returns whether there are any. */
function syncNewSet(draft: DeploymentDraft): boolean {
  const { newSet, deployment } = draft;
  if (newSet === undefined) return false;
  const current = newSet.metadata.annotations ?? {};
  const annotations = newSetAnnotations(deployment, current, revisionAfter(draft.old));
  draft.revision = annotations[REVISION];
  if (conditionOf(draft.conditions, 'Progressing') === undefined) {
    noteProgress(draft, 'FoundNewReplicaSet', `Found new replica set "${newSet.metadata.name ?? ''}"`);
  }
  const minReadySeconds = deployment.spec?.minReadySeconds ?? 0;
  if (equalJson(annotations, current) && (newSet.spec?.minReadySeconds ?? 0) === minReadySeconds) return false;
  draft.actions.push({ kind: 'annotateSet', set: newSet, annotations, minReadySeconds });
  return true;
}

function noteProgress(draft: DeploymentDraft, reason: string, message: string): void {
  if (!hasProgressDeadline(draft.deployment)) return;
  draft.conditions = setCondition(
    draft.conditions,
    { type: 'Progressing', status: 'True', reason, message },
    draft.now,
  );
}

/** Plans new sizes. `annotate` lists sets whose recorded desired size must be updated even if their size is unchanged. */
function resize(draft: DeploymentDraft, sizes: readonly Resize[], annotate: readonly ReplicaSet[]): void {
  const { maxSurge } = rollingBounds(draft.deployment);
  const desired = desiredReplicas(draft.deployment);
  const sized = new Set(sizes.map((size) => size.set));
  const annotated = draft.actions.flatMap((action) => (action.kind === 'annotateSet' ? [action.set] : []));
  const stale = annotate.filter(
    (set) => !sized.has(set) && (set.spec?.replicas ?? 0) > 0 && sizeAnnotationsDiffer(set, desired, maxSurge),
  );
  for (const { set, replicas } of [...sizes, ...stale.map((set) => ({ set, replicas: set.spec?.replicas ?? 0 }))]) {
    if (annotated.includes(set)) continue; // one write at a time: it is looked at again
    if (replicas === (set.spec?.replicas ?? 0) && !sizeAnnotationsDiffer(set, desired, maxSurge)) continue;
    draft.actions.push({ kind: 'resizeSet', set, replicas });
  }
}

function cleanWhenComplete(draft: DeploymentDraft): void {
  if (isComplete(draft.deployment, countedStatus(draft))) cleanHistory(draft);
}

/** Plans the deletion of the oldest empty sets beyond the history limit. */
function cleanHistory(draft: DeploymentDraft): void {
  const limit = draft.deployment.spec?.revisionHistoryLimit;
  if (limit === undefined || limit === 2147483647) return;
  const alive = draft.old.filter((set) => set.metadata.deletionTimestamp === undefined);
  const oldest = [...alive].sort((a, b) => byRevision(a, b) || byAge(a, b));
  for (const set of oldest.slice(0, Math.max(0, alive.length - limit))) {
    const settled = (set.metadata.generation ?? 0) <= (set.status?.observedGeneration ?? 0);
    if (settled && sum([set], (s) => s.spec?.replicas) === 0 && (set.status?.replicas ?? 0) === 0)
      draft.actions.push({ kind: 'deleteSet', set });
  }
}

function rollout(draft: DeploymentDraft): DeploymentStatus {
  // A set that is about to be created counts, as in Kubernetes: a rollout without pods is complete with it.
  const created = draft.actions.find((action) => action.kind === 'createSet')?.set;
  return rolloutStatus({ ...draft, newSet: draft.newSet ?? created });
}

function finish(draft: DeploymentDraft, status: DeploymentStatus): void {
  draft.conditions = status.conditions ?? [];
  const sameRevision = draft.revision === draft.deployment.metadata.annotations?.[REVISION];
  if (sameRevision && equalJson(status, draft.deployment.status ?? {})) return;
  draft.actions.push({ kind: 'updateStatus', status, revision: draft.revision });
}
