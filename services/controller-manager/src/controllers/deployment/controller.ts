import { errorMessage } from '@gantry/base';
import {
  cloneJson,
  type Deployment,
  equalJson,
  isReason,
  keyOf,
  type KubeObject,
  labelSelectorFrom,
  type ObjectKey,
  type Pod,
  type ReplicaSet,
} from '@gantry/api';
import type { ObjectWrite } from '@gantry/client';
import {
  type Cache,
  type ControllerContext,
  type ControllerSpec,
  type Result,
  type WatchSpec,
  watchSelf,
} from '@gantry/controller-runtime';
import { adoptionPatch, controllerOf, releasePatch } from '../ownership.ts';
import { DEPLOYMENTS, PODS, REPLICA_SETS } from '../resources.ts';
import { REVISION, sizeAnnotations } from './annotations.ts';
import { type Action, planDeployment } from './plan.ts';
import { desiredReplicas, findNewSet, rollingBounds } from './replica-sets.ts';

/** Rolls out a Deployment's template through ReplicaSets. */
export const deploymentController: ControllerSpec = {
  name: 'deployment',
  eventSource: 'deployment-controller',
  watches: [watchSelf(DEPLOYMENTS), watchSets(), watchEndingPods()],
  reconcile: reconcileDeployment,
};

function watchSets(): WatchSpec<ReplicaSet> {
  return {
    resource: REPLICA_SETS,
    keys: (set, old, cache) => [...deploymentsOf(set, cache), ...deploymentsOf(old, cache)],
  };
}

/** The Deployment that controls a set, or those that select it while nobody does. */
function deploymentsOf(set: ReplicaSet | undefined, cache: Cache): ObjectKey[] {
  if (set === undefined) return [];
  const namespace = set.metadata.namespace ?? '';
  const controller = controllerOf(set);
  if (controller !== undefined) return controller.kind === 'Deployment' ? [{ namespace, name: controller.name }] : [];
  return cache
    .list<Deployment>(DEPLOYMENTS, namespace)
    .filter((deployment) => labelSelectorFrom(deployment.spec?.selector).matches(set.metadata.labels))
    .map(keyOf);
}

/** A Recreate rollout goes on when the last old pod has ended, which changes no set. */
function watchEndingPods(): WatchSpec<Pod> {
  return {
    resource: PODS,
    keys: (pod, old, cache) => {
      const ended = pod === undefined || pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
      const subject = pod ?? old;
      const owner = ended && subject !== undefined ? controllerOf(subject) : undefined;
      if (owner?.kind !== 'ReplicaSet') return [];
      const set = cache.get<ReplicaSet>(REPLICA_SETS, {
        namespace: subject?.metadata.namespace ?? '',
        name: owner.name,
      });
      const deployments = deploymentsOf(set, cache);
      return deployments.filter((key) => cache.get<Deployment>(DEPLOYMENTS, key)?.spec?.strategy?.type === 'Recreate');
    },
  };
}

async function reconcileDeployment(key: ObjectKey, context: ControllerContext, signal: AbortSignal): Promise<Result> {
  const { cache } = context;
  const deployment = cache.get<Deployment>(DEPLOYMENTS, key);
  if (deployment === undefined) return {};
  const owned = cache.controlledBy<ReplicaSet>(REPLICA_SETS, deployment.metadata.uid ?? '');
  const free = cache.list<ReplicaSet>(REPLICA_SETS, key.namespace).filter((set) => controllerOf(set) === undefined);
  const pods = owned.flatMap((set) => cache.controlledBy<Pod>(PODS, set.metadata.uid ?? ''));
  const now = context.clock.now();
  const plan = planDeployment({ deployment, replicaSets: [...owned, ...free], pods }, now);
  for (const action of plan.actions) await execute(action, deployment, context, signal);
  // A second beyond, since a condition's time is cut to seconds.
  return plan.lookAgainAt === undefined ? {} : { requeueAfterMs: Math.max(0, plan.lookAgainAt - now) + 1000 };
}

async function execute(
  action: Action,
  deployment: Deployment,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  switch (action.kind) {
    case 'adopt':
      return patchSet(action.set, adoptionPatch(action.set, deployment), context, signal);
    case 'release':
      return patchSet(action.set, releasePatch(action.set, deployment), context, signal);
    case 'createSet':
      return createSet(action.set, deployment, context, signal);
    case 'annotateSet': {
      const set = cloneJson(action.set);
      set.metadata.annotations = { ...action.annotations };
      if (set.spec !== undefined) set.spec.minReadySeconds = action.minReadySeconds;
      return writeUnlessGone({ verb: 'update', resource: REPLICA_SETS, key: keyOf(set), object: set }, context, signal);
    }
    case 'resizeSet':
      return resizeSet(action.set, action.replicas, deployment, context, signal);
    case 'deleteSet':
      return writeUnlessGone(
        { verb: 'delete', resource: REPLICA_SETS, key: keyOf(action.set), options: uidOnly(action.set) },
        context,
        signal,
      );
    case 'updateStatus': {
      const object = cloneJson(deployment);
      object.status = action.status;
      if (action.revision !== undefined)
        object.metadata.annotations = { ...object.metadata.annotations, [REVISION]: action.revision };
      return writeUnlessGone(
        { verb: 'update', resource: DEPLOYMENTS, key: keyOf(deployment), object, subresource: 'status' },
        context,
        signal,
      );
    }
  }
}

/** Creates the new set. A namesake of another template is a hash collision: the count is raised and the next look hashes anew. */
async function createSet(
  set: ReplicaSet,
  deployment: Deployment,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const namespace = set.metadata.namespace ?? '';
  try {
    await context.client.write({ verb: 'create', resource: REPLICA_SETS, namespace, object: set }, signal);
  } catch (error) {
    if (!isReason(error, 'AlreadyExists')) {
      context.events.event(
        deployment,
        'Warning',
        'ReplicaSetCreateError',
        `Failed to create new replica set "${set.metadata.name ?? ''}": ${errorMessage(error)}`,
      );
      throw error;
    }
    const existing = await context.client.get<ReplicaSet>(REPLICA_SETS, keyOf(set), signal);
    const ours =
      controllerOf(existing)?.uid === deployment.metadata.uid && findNewSet(deployment, [existing]) !== undefined;
    if (!ours) await raiseCollisionCount(deployment, context, signal);
    throw error;
  }
  const replicas = set.spec?.replicas ?? 0;
  if (replicas > 0)
    context.events.event(
      deployment,
      'Normal',
      'ScalingReplicaSet',
      `Scaled up replica set ${set.metadata.name ?? ''} from 0 to ${replicas}`,
    );
}

async function raiseCollisionCount(
  deployment: Deployment,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const object = cloneJson(deployment);
  object.status = { ...object.status, collisionCount: (object.status?.collisionCount ?? 0) + 1 };
  await writeUnlessGone(
    { verb: 'update', resource: DEPLOYMENTS, key: keyOf(deployment), object, subresource: 'status' },
    context,
    signal,
  );
}

async function resizeSet(
  set: ReplicaSet,
  replicas: number,
  deployment: Deployment,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const object = cloneJson(set);
  const before = set.spec?.replicas ?? 0;
  if (object.spec !== undefined) object.spec.replicas = replicas;
  object.metadata.annotations = {
    ...object.metadata.annotations,
    ...sizeAnnotations(desiredReplicas(deployment), rollingBounds(deployment).maxSurge),
  };
  if (equalJson(object, set)) return;
  await writeUnlessGone({ verb: 'update', resource: REPLICA_SETS, key: keyOf(set), object }, context, signal);
  if (replicas === before) return;
  const direction = replicas > before ? 'up' : 'down';
  context.events.event(
    deployment,
    'Normal',
    'ScalingReplicaSet',
    `Scaled ${direction} replica set ${set.metadata.name ?? ''} from ${before} to ${replicas}`,
  );
}

/** A set that has changed hands meanwhile is seen again by its event. */
async function patchSet(
  set: ReplicaSet,
  patch: unknown,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  try {
    await context.client.write(
      {
        verb: 'patch',
        resource: REPLICA_SETS,
        key: keyOf(set),
        patch,
        patchType: 'application/strategic-merge-patch+json',
      },
      signal,
    );
  } catch (error) {
    if (!isReason(error, 'NotFound') && !isReason(error, 'Invalid')) throw error;
  }
}

async function writeUnlessGone(write: ObjectWrite, context: ControllerContext, signal: AbortSignal): Promise<void> {
  try {
    await context.client.write(write, signal);
  } catch (error) {
    if (!isReason(error, 'NotFound')) throw error;
  }
}

function uidOnly(object: KubeObject): { preconditions: { uid?: string } } {
  return { preconditions: object.metadata.uid === undefined ? {} : { uid: object.metadata.uid } };
}
