import { ignoreNotFound, isNamespaceTerminating } from '@gantry/client';
import {
  type Cache,
  type ControllerContext,
  type ControllerSpec,
  executeActions,
  type Result,
  resultOf,
  watchSelf,
  type WatchSpec,
} from '@gantry/controller-runtime';
import {
  CONTROLLER_REVISIONS,
  equalJson,
  keyOf,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  type Pod,
  PODS,
  STATEFUL_SETS,
  type StatefulSet,
  type StatefulSetStatus,
} from '@gantry/objects';
import { renewing } from '../../libraries/event-renewal.ts';
import { adopt, claimCandidates, mayAdopt, release, watchOwned } from '../../libraries/owned-objects.shell.ts';
import { changesCounts } from '../../libraries/pods/pod-state.ts';
import { createRevision, deleteRevision, renumberRevision } from '../../libraries/revisions/writes.shell.ts';
import { isPodAction, type PodAction } from './actions.ts';
import { setsOfClaim } from './claims.ts';
import type { Action } from './actions.ts';
import { type ObservedStatefulSet, planStatefulSet, planStatus } from './plan.ts';
import { performPodAction } from './pod-writes.shell.ts';

/** Keeps one pod per ordinal of a StatefulSet, with its name, claims and template. */
export const statefulSetController: ControllerSpec = {
  name: 'stateful-set',
  eventSource: 'statefulset-controller',
  watches: [watchSelf(STATEFUL_SETS), watchPods(), watchOwned(CONTROLLER_REVISIONS, STATEFUL_SETS), watchClaims()],
  reconcile: async (key, context, signal) => {
    const { cache } = context;
    const set = cache.get(STATEFUL_SETS, key);
    if (set === undefined) return {};
    return await reconcileSet(observe(set, cache), context, signal);
  },
};

function observe(set: StatefulSet, cache: Cache): ObservedStatefulSet {
  return {
    set,
    pods: claimCandidates(set, PODS, cache),
    revisions: claimCandidates(set, CONTROLLER_REVISIONS, cache),
    findClaim: (claim) => cache.get(PERSISTENT_VOLUME_CLAIMS, claim),
  };
}

/** Queues for pods of a set, and for other pods that free a name for which a set may wait. */
function watchPods(): WatchSpec<Pod> {
  const owned = watchOwned(PODS, STATEFUL_SETS, { matters: changesOrder });
  return {
    resource: PODS,
    keys: (pod, old, cache) => {
      const keys = owned.keys(pod, old, cache);
      const left = pod === undefined ? /^(.+)-\d+$/.exec(old?.metadata.name ?? '')?.[1] : undefined;
      if (left === undefined) return keys;
      const set = cache.get(STATEFUL_SETS, { namespace: old?.metadata.namespace ?? '', name: left });
      return set === undefined ? keys : [...keys, keyOf(set)];
    },
  };
}

/** Whether an update of a pod affects what its set waits for, counts or repairs. */
function changesOrder(pod: Pod, old: Pod): boolean {
  return changesCounts(pod, old) || pod.status?.phase !== old.status?.phase;
}

/** Queues for claims: a pod may wait for the deletion of a claim, and the owners of a claim depend on the set's policy. */
function watchClaims(): WatchSpec<PersistentVolumeClaim> {
  return {
    resource: PERSISTENT_VOLUME_CLAIMS,
    keys: (claim, old, cache) => {
      const subject = claim ?? old;
      if (subject === undefined || (claim !== undefined && old !== undefined && isOwnedAlike(claim, old))) return [];
      return setsOfClaim((set) => cache.get(STATEFUL_SETS, set), subject).map(keyOf);
    },
  };
}

function isOwnedAlike({ metadata: a }: PersistentVolumeClaim, { metadata: b }: PersistentVolumeClaim): boolean {
  return a.deletionTimestamp === b.deletionTimestamp && equalJson(a.ownerReferences, b.ownerReferences);
}

/** The error that a failed reconcile throws after its status has been written. */
interface Failed {
  readonly error: unknown;
}

async function reconcileSet(
  observed: ObservedStatefulSet,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<Result> {
  const { set } = observed;
  const now = context.clock.now();
  const plan = planStatefulSet(observed, now);
  if (plan.actions.some(isAdoption) && !(await mayAdopt(context.client, STATEFUL_SETS, set, signal))) return {};
  for (const action of plan.actions) {
    if (isPreparation(action) && !(await prepare(action, set, context, signal))) return {};
  }
  const failed = await changePods(plan.actions.filter(isPodAction), set, context, signal);
  const statuses = failed === undefined ? plan.actions : planStatus(observed, now);
  for (const action of statuses)
    if (action.kind === 'updateStatus') await updateStatus(set, action.status, context, signal);
  for (const action of plan.actions) {
    if (action.kind === 'deleteRevision') await deleteRevision(context.client, action.revision, signal);
  }
  if (failed !== undefined) throw failed.error;
  const result = resultOf(plan, context.clock);
  return plan.actions.some(({ kind }) => kind === 'report') ? renewing(result) : result;
}

type Preparation = Exclude<Action, PodAction | { kind: 'updateStatus' | 'deleteRevision' }>;

function isAdoption({ kind }: Action): boolean {
  return kind === 'adoptPod' || kind === 'adoptRevision';
}

function isPreparation(action: Action): action is Preparation {
  return !isPodAction(action) && action.kind !== 'updateStatus' && action.kind !== 'deleteRevision';
}

/** Executes an action that precedes pod changes. False if the set must be planned again. */
async function prepare(
  action: Preparation,
  set: StatefulSet,
  { client }: ControllerContext,
  signal: AbortSignal,
): Promise<boolean> {
  switch (action.kind) {
    case 'adoptRevision':
      await adopt(client, CONTROLLER_REVISIONS, action.revision, set, signal);
      return true;
    case 'adoptPod':
      await adopt(client, PODS, action.pod, set, signal);
      return true;
    case 'releasePod':
      await release(client, PODS, action.pod, set, signal);
      return true;
    case 'renumberRevision':
      await renumberRevision(client, action.revision, action.number, signal);
      return true;
    case 'createRevision':
      if ((await createRevision(client, action.revision, signal)) !== undefined) return true;
      await ignoreNotFound(client.updateStatus(STATEFUL_SETS, collidedSet(set), signal));
      return false;
  }
}

/** The set after a hash collision of its revision name: the next plan uses another name. */
function collidedSet(set: StatefulSet): StatefulSet {
  const { replicas = 0, collisionCount = 0 } = set.status ?? {};
  return { ...set, status: { ...set.status, replicas, collisionCount: collisionCount + 1 } };
}

/** Executes the actions on pods in order; with the policy `Parallel`, actions of the same kind in parallel. Stops at the first failure. */
async function changePods(
  actions: readonly PodAction[],
  set: StatefulSet,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<Failed | undefined> {
  const options = set.spec?.podManagementPolicy === 'Parallel' ? {} : { parallel: 1 };
  try {
    for (const group of groupsByKind(actions)) {
      await executeActions(group, (action) => performPodAction(action, set, context, signal), options, signal);
    }
  } catch (error) {
    // A terminating namespace rejects all pods and deletes the set.
    return isNamespaceTerminating(error) ? undefined : { error };
  }
  return undefined;
}

/** Runs of actions of the same kind. */
function groupsByKind(actions: readonly PodAction[]): readonly PodAction[][] {
  const groups: PodAction[][] = [];
  for (const action of actions) {
    const last = groups.at(-1);
    if (last?.[0]?.kind === action.kind) last.push(action);
    else groups.push([action]);
  }
  return groups;
}

async function updateStatus(
  set: StatefulSet,
  status: StatefulSetStatus,
  { client }: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  await ignoreNotFound(client.updateStatus(STATEFUL_SETS, { ...set, status }, signal));
}
