import { ignoreNotFound } from '@gantry/client';
import {
  carryOut,
  type ControllerContext,
  type ControllerSpec,
  watchSelf,
  type WatchSpec,
} from '@gantry/controller-runtime';
import { formatKey, keyOf, NODES, type Pod, PODS } from '@gantry/objects';
import type { TaintEvictionMeter } from '../../metrics/nodes.ts';
import {
  type Action,
  changesEviction,
  evictionGrace,
  hasEvictingTaint,
  planEviction,
  type ScheduledEviction,
  taintsDiffer,
} from './plan.ts';

/** A pod that will be evicted when its toleration expires. */
interface Scheduled extends ScheduledEviction {
  readonly pod: Pod;
}

/** Queues a changed pod that may be evicted, or was going to be. Most pods are on nodes without such a taint. */
function watchPods(scheduled: ReadonlyMap<string, Scheduled>): WatchSpec<Pod> {
  const self = watchSelf(PODS, changesEviction);
  return {
    resource: PODS,
    keys: (pod, old, cache) => {
      const isOnTainted = hasEvictingTaint(cache.get(NODES, { namespace: '', name: pod?.spec?.nodeName ?? '' }));
      return self.keys(pod, old, cache).filter((key) => isOnTainted || scheduled.has(formatKey(key)));
    },
  };
}

/** Deletes pods that do not tolerate a NoExecute taint of their node, or whose toleration has expired. */
export function createTaintEvictionController(meter: TaintEvictionMeter): ControllerSpec {
  const scheduled = new Map<string, Scheduled>();
  return {
    name: 'taint-eviction',
    eventSource: 'taint-eviction-controller',
    watches: [
      watchPods(scheduled),
      {
        resource: NODES,
        keys: (node, old, cache) =>
          taintsDiffer(node, old) ? cache.onNode(PODS, (node ?? old)?.metadata.name ?? '').map(keyOf) : [],
      },
    ],
    begin: () => scheduled.clear(),
    reconcile: async (key, context, signal) => {
      const { cache, clock } = context;
      const id = formatKey(key);
      const pod = cache.get(PODS, key);
      const known = scheduled.get(id);
      if (known !== undefined && known.pod.metadata.uid !== pod?.metadata.uid) {
        scheduled.delete(id);
        reportCancelled(known.pod, context);
      }
      const nodeName = pod?.spec?.nodeName ?? '';
      if (pod === undefined || nodeName === '') return {};
      const node = cache.get(NODES, { namespace: '', name: nodeName });
      const perform = async (action: Action) => {
        if (action.kind === 'schedule') scheduled.set(id, { pod, since: action.since });
        else scheduled.delete(id);
        if (action.kind === 'cancel') reportCancelled(pod, context);
        if (action.kind === 'evict') {
          await evict(pod, action, context, signal);
          meter.deleted(Math.max(0, clock.now() - action.due) / 1000);
        }
      };
      return await carryOut(planEviction(pod, node, scheduled.get(id), clock.now()), perform, clock);
    },
  };
}

function reportCancelled(pod: Pod, { events }: ControllerContext): void {
  events.event(pod, 'Normal', 'TaintManagerEviction', `Cancelling deletion of Pod ${formatKey(keyOf(pod))}`);
}

async function evict(
  pod: Pod,
  { condition }: Extract<Action, { kind: 'evict' }>,
  { client, events }: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const key = keyOf(pod);
  const { uid } = pod.metadata;
  events.event(pod, 'Normal', 'TaintManagerEviction', `Marking for deletion Pod ${formatKey(key)}`);
  const change = { metadata: { uid }, status: { conditions: [condition] } };
  await ignoreNotFound(client.patch(PODS, key, { strategic: change, subresource: 'status' }, signal));
  await ignoreNotFound(client.delete(PODS, key, { uid, gracePeriodSeconds: evictionGrace(pod) }, signal));
}
