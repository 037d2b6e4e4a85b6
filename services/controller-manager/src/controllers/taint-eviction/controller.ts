import { formatKey, keyOf, type Node, type ObjectKey, type Pod } from '@gantry/api';
import { type ControllerContext, type ControllerSpec, type Result, watchSelf } from '@gantry/controller-runtime';
import { ignoreNotFound } from '../ignore-not-found.ts';
import { NODES, PODS } from '../resources.ts';
import { disruptionTarget, planEviction } from './plan.ts';

/** Deletes pods that do not tolerate a NoExecute taint of their node, when their time is up. */
export const taintEvictionController: ControllerSpec = {
  name: 'taint-eviction',
  eventSource: 'taint-eviction-controller',
  watches: [
    watchSelf(PODS),
    {
      resource: NODES,
      keys: (node, old, cache) =>
        taintsDiffer(node, old) ? cache.onNode(PODS, (node ?? old)?.metadata.name ?? '').map(keyOf) : [],
    },
  ],
  reconcile,
};

function taintsDiffer(node: Node | undefined, old: Node | undefined): boolean {
  return JSON.stringify(node?.spec?.taints ?? []) !== JSON.stringify(old?.spec?.taints ?? []);
}

async function reconcile(key: ObjectKey, context: ControllerContext, signal: AbortSignal): Promise<Result> {
  const { cache, client, clock, events } = context;
  const pod = cache.get<Pod>(PODS, key);
  const nodeName = pod?.spec?.nodeName ?? '';
  if (pod === undefined || nodeName === '') return {};
  const now = clock.now();
  const plan = planEviction(pod, cache.get<Node>(NODES, { namespace: '', name: nodeName }), now);
  if (plan.kind === 'stays') return {};
  if (plan.at > now) return { requeueAfterMs: plan.at - now };
  const { uid } = pod.metadata;
  const conditions = [
    disruptionTarget('DeletionByTaintManager', 'Taint manager: deleting due to NoExecute taint', now),
  ];
  events.event(pod, 'Normal', 'TaintManagerEviction', `Marking for deletion Pod ${formatKey(key)}`);
  await ignoreNotFound(
    client.write(
      {
        verb: 'patch',
        resource: PODS,
        key,
        // Its own condition alone, which is merged by its type: the others are their owners' as they are now.
        patch: { metadata: { uid }, status: { conditions } },
        patchType: 'application/strategic-merge-patch+json',
        subresource: 'status',
      },
      signal,
    ),
  );
  const preconditions = uid === undefined ? {} : { uid };
  await ignoreNotFound(client.write({ verb: 'delete', resource: PODS, key, options: { preconditions } }, signal));
  return {};
}
