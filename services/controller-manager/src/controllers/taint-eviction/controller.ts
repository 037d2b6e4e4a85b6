import { ignoreNotFound } from '@gantry/client';
import { carryOut, type ControllerSpec, watchSelf } from '@gantry/controller-runtime';
import { formatKey, keyOf, NODES, PODS } from '@gantry/objects';
import { type Action, planEviction, taintsDiffer } from './plan.ts';

/** Deletes pods that do not tolerate a NoExecute taint of their node, when their toleration has run out. */
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
  reconcile: async (key, { cache, client, clock, events }, signal) => {
    const pod = cache.get(PODS, key);
    const nodeName = pod?.spec?.nodeName ?? '';
    if (pod === undefined || nodeName === '') return {};
    const { uid } = pod.metadata;
    const evict = async ({ condition }: Action) => {
      events.event(pod, 'Normal', 'TaintManagerEviction', `Marking for deletion Pod ${formatKey(key)}`);
      const change = { metadata: { uid }, status: { conditions: [condition] } };
      await ignoreNotFound(client.patch(PODS, key, { strategic: change, subresource: 'status' }, signal));
      await ignoreNotFound(client.delete(PODS, key, { uid }, signal));
    };
    const plan = planEviction(pod, cache.get(NODES, { namespace: '', name: nodeName }), clock.now());
    return await carryOut(plan, evict, clock);
  },
};
