import { errorMessage } from '@gantry/base';
import { ignoreNotFound, isNamespaceTerminating } from '@gantry/client';
import {
  carryOut,
  type ControllerContext,
  type ControllerSpec,
  watchSelf,
  type WatchSpec,
} from '@gantry/controller-runtime';
import {
  controllerOf,
  type Deployment,
  DEPLOYMENTS,
  hasEnded,
  isReason,
  keyOf,
  type Pod,
  PODS,
  REPLICA_SETS,
  type ReplicaSet,
} from '@gantry/objects';
import {
  adopt,
  claimCandidates,
  mayAdopt,
  ownersOf,
  release,
  watchOwned,
} from '../../libraries/owned-objects.shell.ts';
import { type Action, planDeployment } from './plan.ts';
import { runsTemplateOf } from './replica-sets.ts';
import { annotatedSet, collidedDeployment, deploymentWithStatus, failedDeployment, resizedSet } from './writes.ts';

/** Rolls out a Deployment's template through ReplicaSets. */
export const deploymentController: ControllerSpec = {
  name: 'deployment',
  eventSource: 'deployment-controller',
  watches: [watchSelf(DEPLOYMENTS), watchOwned(REPLICA_SETS, DEPLOYMENTS), watchEndingPods()],
  reconcile: async (key, context, signal) => {
    const { cache, client, clock } = context;
    const deployment = cache.get(DEPLOYMENTS, key);
    if (deployment === undefined) return {};
    const replicaSets = claimCandidates(deployment, REPLICA_SETS, cache);
    const owned = replicaSets.filter((set) => controllerOf(set) !== undefined);
    // Only Recreate waits for pods; otherwise the statuses of the sets are sufficient.
    const isRecreate = deployment.spec?.strategy?.type === 'Recreate';
    const pods = isRecreate
      ? owned.flatMap((set) => cache.controlledBy(PODS, key.namespace, set.metadata.uid ?? ''))
      : [];
    const plan = planDeployment({ deployment, replicaSets, pods }, clock.now());
    const adopts = plan.actions.some(({ kind }) => kind === 'adopt');
    if (adopts && !(await mayAdopt(client, DEPLOYMENTS, deployment, signal))) return {};
    try {
      return await carryOut(plan, (action) => execute(action, deployment, context, signal), clock);
    } catch (error) {
      // All further attempts would be rejected too.
      if (isNamespaceTerminating(error)) return {};
      throw error;
    }
  },
};

/** A Recreate rollout continues when the last old pod has ended, which changes no ReplicaSet. */
function watchEndingPods(): WatchSpec<Pod> {
  return {
    resource: PODS,
    keys: (pod, old, cache) => {
      const ended = pod === undefined || hasEnded(pod);
      const subject = pod ?? old;
      if (!ended || subject === undefined || controllerOf(subject) === undefined) return [];
      return ownersOf(subject, REPLICA_SETS, cache)
        .flatMap((key) => ownersOf(cache.get(REPLICA_SETS, key), DEPLOYMENTS, cache))
        .filter((key) => cache.get(DEPLOYMENTS, key)?.spec?.strategy?.type === 'Recreate');
    },
  };
}

async function execute(
  action: Action,
  deployment: Deployment,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, events } = context;
  switch (action.kind) {
    case 'adopt':
      return await adopt(client, REPLICA_SETS, action.set, deployment, signal);
    case 'release':
      return await release(client, REPLICA_SETS, action.set, deployment, signal);
    case 'createSet':
      await createSet(action.set, deployment, context, signal);
      break;
    case 'annotateSet':
      await ignoreNotFound(client.update(REPLICA_SETS, annotatedSet(action), signal));
      return;
    case 'resizeSet': {
      const object = resizedSet(action, deployment);
      if (object === undefined) return;
      await ignoreNotFound(client.update(REPLICA_SETS, object, signal));
      break;
    }
    case 'deleteSet':
      await ignoreNotFound(client.delete(REPLICA_SETS, keyOf(action.set), { uid: action.set.metadata.uid }, signal));
      return;
    case 'rollBack': {
      const { rollback } = action;
      await ignoreNotFound(client.update(DEPLOYMENTS, rollback.deployment, signal));
      events.event(deployment, rollback.type, rollback.reason, rollback.message);
      return;
    }
    case 'reportSelectingAll':
      events.event(deployment, 'Warning', 'SelectingAll', SELECTING_ALL);
      return;
    case 'updateStatus':
      await ignoreNotFound(client.updateStatus(DEPLOYMENTS, deploymentWithStatus(deployment, action), signal));
      return;
  }
  const message = scalingMessage(action);
  if (message !== undefined) events.event(deployment, 'Normal', 'ScalingReplicaSet', message);
}

/**
 * If a ReplicaSet with that name has another template, it is a hash collision: the collision count is raised, and the next plan computes a
 * new hash. Other failures are reported in the status and an Event, unless the namespace is terminating.
 */
async function createSet(
  set: ReplicaSet,
  deployment: Deployment,
  { client, clock, events }: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.create(REPLICA_SETS, set, signal);
  } catch (error) {
    if (isReason(error, 'AlreadyExists')) {
      const existing = await client.get(REPLICA_SETS, keyOf(set), signal);
      if (!runsTemplateOf(deployment, existing)) {
        await ignoreNotFound(client.updateStatus(DEPLOYMENTS, collidedDeployment(deployment), signal));
      }
    } else if (!isNamespaceTerminating(error)) {
      const message = createFailureMessage(set, error);
      events.event(deployment, 'Warning', 'ReplicaSetCreateError', message);
      const failed = failedDeployment(deployment, message, clock.now());
      if (failed !== undefined) await ignoreNotFound(client.updateStatus(DEPLOYMENTS, failed, signal));
    }
    throw error;
  }
}

/** Kubernetes' message for a selector without requirements. */
const SELECTING_ALL = 'This deployment is selecting all pods. A non-empty selector is required.';

/** The message of the Event for a created or resized set; undefined if its size is unchanged. */
function scalingMessage(action: Extract<Action, { kind: 'createSet' | 'resizeSet' }>): string | undefined {
  const before = action.kind === 'createSet' ? 0 : (action.set.spec?.replicas ?? 0);
  const after = action.kind === 'createSet' ? (action.set.spec?.replicas ?? 0) : action.replicas;
  if (before === after) return undefined;
  const direction = after > before ? 'up' : 'down';
  return `Scaled ${direction} replica set ${action.set.metadata.name ?? ''} from ${before} to ${after}`;
}

function createFailureMessage(set: ReplicaSet, error: unknown): string {
  return `Failed to create new replica set "${set.metadata.name ?? ''}": ${errorMessage(error)}`;
}
