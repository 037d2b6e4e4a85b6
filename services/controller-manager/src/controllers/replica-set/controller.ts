import { errorMessage } from '@gantry/base';
import { ignoreNotFound } from '@gantry/client';
import {
  type Cache,
  type ControllerContext,
  type ControllerSpec,
  resultOf,
  watchSelf,
} from '@gantry/controller-runtime';
import { type Pod, PODS, REPLICA_SETS, type ReplicaSet } from '@gantry/objects';
import { adopt, claimCandidates, release, watchOwned } from '../owned-objects.ts';
import { controllerOf } from '../ownership.ts';
import { podFromTemplate } from '../pods/pod-template.ts';
import { createPods, deletePods } from '../pods/pod-writes.shell.ts';
import { type Action, planReplicaSet, planStatus } from './plan.ts';
import type { PodFailure } from './status.ts';

/** Keeps as many pods of a ReplicaSet's template as it asks for. */
export const replicaSetController: ControllerSpec = {
  name: 'replica-set',
  eventSource: 'replicaset-controller',
  watches: [watchSelf(REPLICA_SETS), watchOwned(PODS, REPLICA_SETS)],
  reconcile: async (key, context, signal) => {
    const { cache, client, clock } = context;
    const set = cache.get(REPLICA_SETS, key);
    if (set === undefined) return {};
    const pods = claimCandidates(set, PODS, cache);
    const observed = { replicaSet: set, pods, relatedPods: relatedPods(set, cache), failure: undefined };
    const now = clock.now();
    const plan = planReplicaSet(observed, now);
    const failed = await changePods(set, plan.actions, context, signal);
    const actions = failed === undefined ? plan.actions : planStatus({ ...observed, failure: failed.failure }, now);
    for (const action of actions) {
      if (action.kind !== 'updateStatus') continue;
      await ignoreNotFound(client.updateStatus(REPLICA_SETS, { ...set, status: action.status }, signal));
    }
    if (failed !== undefined) throw failed.error;
    return resultOf(plan, clock);
  },
};

/** Pods of all ReplicaSets with the same owner: those that share the nodes with ours. */
function relatedPods(set: ReplicaSet, cache: Cache): Pod[] {
  const owner = controllerOf(set);
  const sets = owner === undefined ? [set] : cache.controlledBy(REPLICA_SETS, owner.uid);
  return sets.flatMap((related) => cache.controlledBy(PODS, related.metadata.uid ?? ''));
}

/** What stopped the changes of pods, and how the status reports it. */
interface Failed {
  readonly error: unknown;
  readonly failure: PodFailure;
}

/** Carries out the actions on pods. Stops at the first rejected write. */
async function changePods(
  set: ReplicaSet,
  actions: readonly Action[],
  context: ControllerContext,
  signal: AbortSignal,
): Promise<Failed | undefined> {
  const { client } = context;
  const creations = actions.flatMap((action) =>
    action.kind === 'createPods' ? Array<Pod>(action.count).fill(podFromTemplate(set.spec?.template, set)) : [],
  );
  const deletions = actions.flatMap((action) => (action.kind === 'deletePod' ? [action.pod] : []));
  for (const action of actions) {
    if (action.kind === 'adopt') await adopt(client, PODS, action.pod, set, signal);
    if (action.kind === 'release') await release(client, PODS, action.pod, set, signal);
  }
  try {
    await createPods(set, creations, context, signal);
  } catch (error) {
    return { error, failure: { reason: 'FailedCreate', message: errorMessage(error) } };
  }
  try {
    await deletePods(set, deletions, context, signal);
  } catch (error) {
    return { error, failure: { reason: 'FailedDelete', message: errorMessage(error) } };
  }
  return undefined;
}
