import type { Instant } from '@gantry/base';
import { ignoreNotFound } from '@gantry/client';
import {
  carryOut,
  type ControllerContext,
  type ControllerSpec,
  executeActions,
  findObject,
  watchSelf,
  type WatchSpec,
} from '@gantry/controller-runtime';
import { formatKey, hasEnded, keyOf, NODES, type Pod, PODS } from '@gantry/objects';
import type { ForcedReason, PodGcMeter } from '../../metrics/nodes.ts';
import {
  type Action,
  changesCollection,
  excessPods,
  isLost,
  isOutOfService,
  MAX_FINISHED,
  planPodCollection,
} from './plan.ts';

/** A pod whose node does not exist. */
interface Orphan {
  readonly uid: string | undefined;
  readonly nodeName: string;
  readonly since: Instant;
}

/**
 * Queues a changed pod that may have to be deleted, or was going to be: one that is being deleted, or whose node does not exist. Most pods
 * are neither.
 */
function watchPods(orphans: ReadonlyMap<string, Orphan>): WatchSpec<Pod> {
  const self = watchSelf(PODS, changesCollection);
  return {
    resource: PODS,
    keys: (pod, old, cache) => {
      const name = pod?.spec?.nodeName ?? '';
      const isAlone = name !== '' && cache.get(NODES, { namespace: '', name }) === undefined;
      const mayGo = isAlone || pod?.metadata.deletionTimestamp !== undefined;
      return self.keys(pod, old, cache).filter((key) => mayGo || orphans.has(formatKey(key)));
    },
  };
}

/** Deletes the pods of nodes that no longer exist. */
export function createPodGcController(meter: PodGcMeter): ControllerSpec {
  const orphans = new Map<string, Orphan>();
  return {
    name: 'pod-gc',
    eventSource: 'pod-garbage-collector',
    watches: [
      watchPods(orphans),
      {
        resource: NODES,
        keys: (node, old, cache) =>
          node === undefined ||
          old === undefined ||
          isOutOfService(node) !== isOutOfService(old) ||
          isLost(node) !== isLost(old)
            ? cache.onNode(PODS, (node ?? old)?.metadata.name ?? '').map(keyOf)
            : [],
      },
    ],
    begin: () => orphans.clear(),
    reconcile: async (key, context, signal) => {
      const { cache, clock } = context;
      const pod = cache.get(PODS, key);
      const name = pod?.spec?.nodeName ?? '';
      const now = clock.now();
      const id = formatKey(key);
      const node = cache.get(NODES, { namespace: '', name });
      if (pod === undefined || name === '' || node !== undefined) {
        orphans.delete(id);
      } else if (!isSame(orphans.get(id), pod)) {
        orphans.set(id, { uid: pod.metadata.uid, nodeName: name, since: now });
      }
      if (pod === undefined) return {};
      const observed = { pod, node, missingSince: orphans.get(id)?.since };
      const plan = planPodCollection(observed, now);
      const isNodeGone = plan.actions.some((action) => action.kind === 'delete' && action.why === 'node-gone');
      if (isNodeGone && (await findObject(NODES, { namespace: '', name }, context, signal)) !== undefined) {
        return { requeueAfterMs: 1000 };
      }
      return await carryOut(plan, (action) => execute(pod, action, { ...context, meter }, signal), clock);
    },
  };
}

const ALL = { namespace: '', name: 'all' };
/** The minimum interval between counts of finished pods, as in Kubernetes (`gcCheckPeriod`). */
const COUNT_MS = 20_000;

/** Limits the number of finished pods. It has one key, which each finishing pod queues. */
export function createTerminatedPodGcController(meter: PodGcMeter, limit = MAX_FINISHED): ControllerSpec {
  let countedAt = -Infinity;
  return {
    name: 'terminated-pod-gc',
    eventSource: 'pod-garbage-collector',
    watches: [
      {
        resource: PODS,
        keys: (pod, old) => (pod !== undefined && hasEnded(pod) && (old === undefined || !hasEnded(old)) ? [ALL] : []),
      },
    ],
    begin: () => {
      countedAt = -Infinity;
    },
    reconcile: async (_key, context, signal) => {
      const { cache, clock } = context;
      const wait = countedAt + COUNT_MS - clock.now();
      if (wait > 0) return { requeueAfterMs: wait };
      countedAt = clock.now();
      const remove = (pod: Pod) => deletePod(pod, 'terminated', { ...context, meter }, signal);
      await executeActions(excessPods(cache.list(PODS), limit), remove, { pace: 'full' }, signal);
      return {};
    },
  };
}

function isSame(orphan: Orphan | undefined, { metadata, spec }: Pod): boolean {
  return orphan !== undefined && orphan.uid === metadata.uid && orphan.nodeName === spec?.nodeName;
}

/** The context for executing actions. */
type Hands = ControllerContext & { readonly meter: PodGcMeter };

/** The label of the metric. */
const FORCED = { 'node-gone': 'orphaned', 'out-of-service': 'out-of-service', 'never-started': 'unscheduled' } as const;

async function execute(pod: Pod, action: Action, hands: Hands, signal: AbortSignal): Promise<void> {
  const { uid, resourceVersion } = pod.metadata;
  switch (action.kind) {
    case 'markFailed': {
      // Conditional on the version that was read: the pod's end may have been reported meanwhile.
      const change = { metadata: { uid, resourceVersion }, status: action.status };
      const patch = { strategic: change, subresource: 'status' } as const;
      await ignoreNotFound(hands.client.patch(PODS, keyOf(pod), patch, signal));
      break;
    }
    case 'markWaiting': {
      const change = { metadata: { uid, resourceVersion }, status: action.status };
      const patch = { strategic: change, subresource: 'status' } as const;
      const written = await ignoreNotFound(hands.client.patch(PODS, keyOf(pod), patch, signal));
      if (written !== undefined) hands.events.event(pod, 'Warning', 'NodeLost', action.status.message);
      break;
    }
    case 'delete':
      await deletePod(pod, FORCED[action.why], hands, signal);
      break;
  }
}

/** Deletes a pod without a grace period: no agent is left that could stop it, or nothing runs. */
async function deletePod(pod: Pod, why: ForcedReason, { client, meter }: Hands, signal: AbortSignal): Promise<void> {
  const { uid, namespace = '' } = pod.metadata;
  try {
    await ignoreNotFound(client.delete(PODS, keyOf(pod), { gracePeriodSeconds: 0, uid }, signal));
    meter.forced(namespace, why, 'deleted');
  } catch (error) {
    meter.forced(namespace, why, 'failed');
    throw error;
  }
}
