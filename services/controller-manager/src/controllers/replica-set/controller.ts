import { errorMessage, type Instant } from '@gantry/base';
import { ignoreNotFound } from '@gantry/client';
import {
  type Cache,
  type ControllerContext,
  type ControllerSpec,
  resultOf,
  watchSelf,
} from '@gantry/controller-runtime';
import {
  controllerOf,
  equalJson,
  type Pod,
  PODS,
  REPLICA_SETS,
  REPLICATION_CONTROLLERS,
  type Resource,
} from '@gantry/objects';
import { adopt, claimCandidates, mayAdopt, release, watchOwned } from '../../libraries/owned-objects.shell.ts';
import { changesCounts, collectingTimeMs, isActive } from '../../libraries/pods/pod-state.ts';
import { podFromTemplate } from '../../libraries/pods/pod-template.ts';
import { createPods, deletePods, PodChangedError } from '../../libraries/pods/pod-writes.shell.ts';
import type { PodSetMeter } from '../../metrics/workloads.ts';
import { type Action, type ObservedPodSet, planReplicaSet, planStatus } from './plan.ts';
import { ageRatios } from './rank.ts';
import { desiredReplicas, type PodFailure, type PodSet } from './status.ts';

/** Maintains the desired number of pods of a ReplicaSet's template. */
export function createReplicaSetController(meter: PodSetMeter): ControllerSpec {
  return podSetController(REPLICA_SETS, { name: 'replica-set', eventSource: 'replicaset-controller' }, meter);
}

/** Does the same for a ReplicationController, the older form of a ReplicaSet. */
export function createReplicationController(meter: PodSetMeter): ControllerSpec {
  const names = { name: 'replication', eventSource: 'replication-controller' };
  return podSetController(REPLICATION_CONTROLLERS, names, meter);
}

function podSetController<T extends PodSet>(
  resource: Resource<T>,
  names: Pick<ControllerSpec, 'name' | 'eventSource'>,
  meter: PodSetMeter,
): ControllerSpec {
  return {
    ...names,
    watches: [watchSelf(resource), watchOwned(PODS, resource, { matters: changesCounts, delayMs: collectingMs })],
    reconcile: async (key, context, signal) => {
      const { cache, client, clock } = context;
      const set = cache.get(resource, key);
      if (set === undefined) return {};
      const pods = claimCandidates(set, PODS, cache);
      // The deletion order matters only if some pods are deleted.
      const related = pods.length > desiredReplicas(set) ? relatedPods(set, resource, cache) : [];
      const observed = { set, pods, relatedPods: related, failure: undefined };
      const now = clock.now();
      const plan = planReplicaSet(observed, now);
      if (plan.actions.some(({ kind }) => kind === 'adopt') && !(await mayAdopt(client, resource, set, signal)))
        return {};
      for (const ratio of deletionAges(observed, plan.actions, now)) meter.choseAge(ratio);
      const failed = await changePods(set, plan.actions, context, signal);
      const actions = failed === undefined ? plan.actions : planStatus({ ...observed, failure: failed.failure }, now);
      for (const action of actions) {
        if (action.kind !== 'updateStatus') continue;
        await ignoreNotFound(client.updateStatus(resource, { ...set, status: action.status }, signal));
      }
      if (failed !== undefined) throw failed.error;
      return resultOf(plan, clock);
    },
  };
}

/** Age ratios of pods that are deleted while others stay. */
function deletionAges({ set, pods }: ObservedPodSet, actions: readonly Action[], now: Instant): readonly number[] {
  const chosen = actions.flatMap((action) => (action.kind === 'deletePod' ? [action.pod] : []));
  if (chosen.length === 0 || desiredReplicas(set) === 0) return [];
  const own = pods.filter((pod) => isActive(pod) && controllerOf(pod)?.uid === set.metadata.uid);
  return ageRatios(chosen, own, now);
}

/** Pods of all sets with the same owner: the order of deletion considers how many of them a node has. */
function relatedPods<T extends PodSet>(set: T, resource: Resource<T>, cache: Cache): Pod[] {
  const owner = controllerOf(set);
  const { namespace = '' } = set.metadata;
  const sets = owner === undefined ? [set] : cache.controlledBy(resource, namespace, owner.uid);
  return sets.flatMap((related) => cache.controlledBy(PODS, namespace, related.metadata.uid ?? ''));
}

/** The error that stopped the pod changes, and its report in the status. */
interface Failed {
  readonly error: unknown;
  /** Undefined if nothing is wrong: a pod has changed before it was deleted. */
  readonly failure: PodFailure | undefined;
}

/** Executes the actions on pods. Stops at the first rejected write. */
async function changePods(
  set: PodSet,
  actions: readonly Action[],
  context: ControllerContext,
  signal: AbortSignal,
): Promise<Failed | undefined> {
  const { client } = context;
  const creations = actions.flatMap((action) =>
    action.kind === 'createPods' ? Array<Pod>(action.count).fill(podFromTemplate(set.spec?.template, set)) : [],
  );
  const deletions = actions.flatMap((action) => (action.kind === 'deletePod' ? [action] : []));
  const asSeen = new Set(deletions.flatMap((action) => (action.asSeen ? [action.pod] : [])));
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
    const pods = deletions.map(({ pod }) => pod);
    await deletePods(set, pods, context, signal, (pod) => asSeen.has(pod));
  } catch (error) {
    if (error instanceof PodChangedError) return { error, failure: undefined };
    return { error, failure: { reason: 'FailedDelete', message: `unable to delete pods: ${errorMessage(error)}` } };
  }
  return undefined;
}

/**
 * Milliseconds that a change of a pod may wait until its set is reconciled. A pod that must be replaced, released or adopted does not wait.
 */
export function collectingMs(pod: Pod | undefined, old: Pod | undefined, set: PodSet | undefined): number {
  if (set === undefined || isUrgent(pod, old)) return 0;
  const pods = Math.max(desiredReplicas(set), set.status?.replicas ?? 0, terminatingReplicas(set));
  return collectingTimeMs(pods);
}

function isUrgent(pod: Pod | undefined, old: Pod | undefined): boolean {
  if (old === undefined) return false;
  if (pod === undefined) return isActive(old);
  return isActive(old) !== isActive(pod) || !equalJson(pod.metadata.labels, old.metadata.labels);
}

function terminatingReplicas({ status }: PodSet): number {
  return status !== undefined && 'terminatingReplicas' in status ? (status.terminatingReplicas ?? 0) : 0;
}
