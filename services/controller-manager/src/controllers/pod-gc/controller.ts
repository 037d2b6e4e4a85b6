import { ignoreNotFound } from '@gantry/client';
import {
  carryOut,
  type ControllerContext,
  type ControllerSpec,
  findObject,
  watchSelf,
} from '@gantry/controller-runtime';
import { formatKey, keyOf, NODES, type Pod, PODS } from '@gantry/objects';
import type { Instant } from '@gantry/base';
import { type Action, changesCollection, planPodCollection } from './plan.ts';

/** A pod that has been seen without its node. */
interface Orphan {
  readonly uid: string | undefined;
  readonly nodeName: string;
  readonly since: Instant;
}

/** Removes the pods of nodes that no longer exist. */
export function createPodGcController(): ControllerSpec {
  const orphans = new Map<string, Orphan>();
  return {
    name: 'pod-gc',
    eventSource: 'pod-garbage-collector',
    watches: [
      watchSelf(PODS, changesCollection),
      {
        resource: NODES,
        keys: (node, old, cache) =>
          node === undefined || old === undefined
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
      if (pod === undefined || name === '' || cache.get(NODES, { namespace: '', name }) !== undefined) {
        orphans.delete(id);
      } else if (!isSame(orphans.get(id), pod)) {
        orphans.set(id, { uid: pod.metadata.uid, nodeName: name, since: now });
      }
      if (pod === undefined) return {};
      const observed = { pod, missingSince: orphans.get(id)?.since };
      const plan = planPodCollection(observed, now);
      const isNodeGone = plan.actions.some((action) => action.kind === 'delete' && action.why === 'node-gone');
      if (isNodeGone && (await findObject(NODES, { namespace: '', name }, context, signal)) !== undefined) {
        return { requeueAfterMs: 1000 };
      }
      return await carryOut(plan, (action) => execute(pod, action, context, signal), clock);
    },
  };
}

function isSame(orphan: Orphan | undefined, { metadata, spec }: Pod): boolean {
  return orphan !== undefined && orphan.uid === metadata.uid && orphan.nodeName === spec?.nodeName;
}

async function execute(pod: Pod, action: Action, { client }: ControllerContext, signal: AbortSignal): Promise<void> {
  const { uid, resourceVersion } = pod.metadata;
  switch (action.kind) {
    case 'markFailed': {
      // Conditional on the version that was read: the pod's end may have been reported meanwhile.
      const change = { metadata: { uid, resourceVersion }, status: action.status };
      await ignoreNotFound(client.patch(PODS, keyOf(pod), { strategic: change, subresource: 'status' }, signal));
      break;
    }
    case 'delete':
      await ignoreNotFound(client.delete(PODS, keyOf(pod), { gracePeriodSeconds: 0, uid }, signal));
      break;
  }
}
