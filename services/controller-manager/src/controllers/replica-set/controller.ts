import { errorMessage } from '@gantry/base';
import { cloneJson, isReason, keyOf, labelSelectorFrom, type ObjectKey, type Pod, type ReplicaSet } from '@gantry/api';
import {
  type Cache,
  type ControllerContext,
  type ControllerSpec,
  executeActions,
  type Result,
  type WatchSpec,
  watchSelf,
} from '@gantry/controller-runtime';
import { adoptionPatch, controllerOf, controllerReference, releasePatch } from '../ownership.ts';
import { PODS, REPLICA_SETS } from '../resources.ts';
import { type Action, planReplicaSet } from './plan.ts';
import { isActive } from './pod-state.ts';
import { type CreateFailure, replicaSetStatus } from './status.ts';

/** Keeps as many pods of a ReplicaSet's template as it asks for. */
export const replicaSetController: ControllerSpec = {
  name: 'replica-set',
  eventSource: 'replicaset-controller',
  watches: [watchSelf(REPLICA_SETS), watchPods()],
  reconcile: reconcileReplicaSet,
};

/** A pod wakes the set that controls or controlled it, and every set that selects it while nobody controls it. */
function watchPods(): WatchSpec<Pod> {
  return {
    resource: PODS,
    keys: (pod, old, cache) => [...setsOf(pod, cache), ...setsOf(old, cache)],
  };
}

function setsOf(pod: Pod | undefined, cache: Cache): ObjectKey[] {
  if (pod === undefined) return [];
  const namespace = pod.metadata.namespace ?? '';
  const controller = controllerOf(pod);
  if (controller !== undefined) return controller.kind === 'ReplicaSet' ? [{ namespace, name: controller.name }] : [];
  return cache
    .list<ReplicaSet>(REPLICA_SETS, namespace)
    .filter((set) => labelSelectorFrom(set.spec?.selector).matches(pod.metadata.labels))
    .map(keyOf);
}

async function reconcileReplicaSet(key: ObjectKey, context: ControllerContext, signal: AbortSignal): Promise<Result> {
  const set = context.cache.get<ReplicaSet>(REPLICA_SETS, key);
  if (set === undefined) return {};
  const pods = candidatePods(set, context.cache);
  const observed = { replicaSet: set, pods, relatedPods: relatedPods(set, context.cache), failure: undefined };
  const now = context.clock.now();
  const plan = planReplicaSet(observed, now);
  const failure = await changePods(set, plan.actions, context, signal);
  const status = failure === undefined ? plannedStatus(plan.actions) : failedStatus(set, pods, failure.reported, now);
  if (status !== undefined) await writeStatus(set, status, context, signal);
  if (failure !== undefined) throw failure.error;
  return plan.lookAgainAt === undefined ? {} : { requeueAfterMs: plan.lookAgainAt - now };
}

/** Pods that the set controls, and those of its namespace that nobody controls. */
function candidatePods(set: ReplicaSet, cache: Cache): Pod[] {
  const free = cache.list<Pod>(PODS, set.metadata.namespace ?? '').filter((pod) => controllerOf(pod) === undefined);
  return [...cache.controlledBy<Pod>(PODS, set.metadata.uid ?? ''), ...free];
}

/** Pods of all the sets that the same owner controls: what shares the nodes with ours. */
function relatedPods(set: ReplicaSet, cache: Cache): Pod[] {
  const owner = controllerOf(set);
  const sets = owner === undefined ? [set] : cache.controlledBy<ReplicaSet>(REPLICA_SETS, owner.uid);
  return sets.flatMap((related) => cache.controlledBy<Pod>(PODS, related.metadata.uid ?? ''));
}

interface Failure {
  readonly error: unknown;
  readonly reported: CreateFailure;
}

/** Carries out what concerns pods. A refusal ends the round and is reported on the set; its namespace's end is none. */
async function changePods(
  set: ReplicaSet,
  actions: readonly Action[],
  context: ControllerContext,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const creations = actions.flatMap((action) =>
    action.kind === 'createPods' ? Array.from({ length: action.count }, () => createPod) : [],
  );
  const deletions = actions.flatMap((action) => (action.kind === 'deletePod' ? [action.pod] : []));
  for (const action of actions) {
    if (action.kind === 'adopt') await patchOwner(action.pod, adoptionPatch(action.pod, set), context, signal);
    if (action.kind === 'release') await patchOwner(action.pod, releasePatch(action.pod, set), context, signal);
  }
  try {
    await executeActions(creations, (create) => create(set, context, signal), {}, signal);
  } catch (error) {
    if (
      isReason(error, 'Forbidden') &&
      error.details?.causes?.some((cause) => cause.reason === 'NamespaceTerminating') === true
    )
      return undefined;
    return { error, reported: { reason: 'FailedCreate', message: errorMessage(error) } };
  }
  try {
    await executeActions(deletions, (pod) => deletePod(set, pod, context, signal), { pace: 'full' }, signal);
  } catch (error) {
    return { error, reported: { reason: 'FailedDelete', message: errorMessage(error) } };
  }
  return undefined;
}

async function createPod(set: ReplicaSet, context: ControllerContext, signal: AbortSignal): Promise<void> {
  const template = cloneJson(set.spec?.template ?? {});
  const namespace = set.metadata.namespace ?? '';
  const { labels, annotations, finalizers } = template.metadata ?? {};
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: `${set.metadata.name ?? ''}-`,
      namespace,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(finalizers === undefined ? {} : { finalizers }),
      ownerReferences: [controllerReference(set)],
    },
    ...(template.spec === undefined ? {} : { spec: template.spec }),
  };
  try {
    const created = await context.client.write<Pod>({ verb: 'create', resource: PODS, namespace, object: pod }, signal);
    context.events.event(set, 'Normal', 'SuccessfulCreate', `Created pod: ${created.metadata.name ?? ''}`);
  } catch (error) {
    context.events.event(set, 'Warning', 'FailedCreate', `Error creating: ${errorMessage(error)}`);
    throw error;
  }
}

async function deletePod(set: ReplicaSet, pod: Pod, context: ControllerContext, signal: AbortSignal): Promise<void> {
  const preconditions = pod.metadata.uid === undefined ? {} : { uid: pod.metadata.uid };
  try {
    await context.client.write({ verb: 'delete', resource: PODS, key: keyOf(pod), options: { preconditions } }, signal);
    context.events.event(set, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name ?? ''}`);
  } catch (error) {
    // A Conflict says that the pod has gone as well: its name is another's by now.
    if (isReason(error, 'NotFound') || isReason(error, 'Conflict')) return;
    context.events.event(set, 'Warning', 'FailedDelete', `Error deleting: ${errorMessage(error)}`);
    throw error;
  }
}

/** A pod that has gone, or changed hands, meanwhile is seen again by its event. */
async function patchOwner(pod: Pod, patch: unknown, context: ControllerContext, signal: AbortSignal): Promise<void> {
  try {
    await context.client.write(
      { verb: 'patch', resource: PODS, key: keyOf(pod), patch, patchType: 'application/strategic-merge-patch+json' },
      signal,
    );
  } catch (error) {
    if (!isReason(error, 'NotFound') && !isReason(error, 'Invalid')) throw error;
  }
}

function plannedStatus(actions: readonly Action[]): ReplicaSet['status'] {
  return actions.flatMap((action) => (action.kind === 'updateStatus' ? [action.status] : []))[0];
}

function failedStatus(
  set: ReplicaSet,
  pods: readonly Pod[],
  failure: CreateFailure,
  now: number,
): ReplicaSet['status'] {
  const owned = pods.filter((pod) => controllerOf(pod)?.uid === set.metadata.uid);
  return replicaSetStatus(set, owned.filter(isActive), owned, failure, now);
}

async function writeStatus(
  set: ReplicaSet,
  status: NonNullable<ReplicaSet['status']>,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const object: ReplicaSet = { ...set, status };
  try {
    await context.client.write(
      { verb: 'update', resource: REPLICA_SETS, key: keyOf(set), object, subresource: 'status' },
      signal,
    );
  } catch (error) {
    if (!isReason(error, 'NotFound')) throw error;
  }
}
