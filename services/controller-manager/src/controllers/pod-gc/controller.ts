import { isReason, keyOf, type Node, type ObjectKey, type Pod } from '@gantry/api';
import { type ControllerContext, type ControllerSpec, type Result, watchSelf } from '@gantry/controller-runtime';
import { ignoreNotFound } from '../ignore-not-found.ts';
import { NODES, PODS } from '../resources.ts';
import { failedStatus, planPodCollection } from './plan.ts';

/** Removes the pods of nodes that are no more. */
export function createPodGcController(): ControllerSpec {
  const missingSince = new Map<string, number>();
  return {
    name: 'pod-gc',
    eventSource: 'pod-garbage-collector',
    watches: [
      watchSelf(PODS),
      {
        resource: NODES,
        keys: (node, old, cache) =>
          node === undefined || old === undefined
            ? cache.onNode(PODS, (node ?? old)?.metadata.name ?? '').map(keyOf)
            : [],
      },
    ],
    begin: () => missingSince.clear(),
    reconcile: (key, context, signal) => reconcile(missingSince, key, context, signal),
  };
}

async function reconcile(
  missingSince: Map<string, number>,
  key: ObjectKey,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<Result> {
  const { cache, clock } = context;
  const pod = cache.get<Pod>(PODS, key);
  if (pod === undefined) return {};
  const name = pod.spec?.nodeName ?? '';
  const now = clock.now();
  if (name === '' || cache.get<Node>(NODES, { namespace: '', name }) !== undefined) missingSince.delete(name);
  else if (!missingSince.has(name)) missingSince.set(name, now);
  const plan = planPodCollection({ pod, missingSince: name === '' ? undefined : missingSince.get(name) }, now);
  switch (plan.kind) {
    case 'stays':
      return {};
    case 'lookAgainAt':
      return { requeueAfterMs: plan.at - now };
    case 'remove':
      if (plan.why === 'node-gone') {
        if (await nodeExists(name, context, signal)) return { requeueAfterMs: 1000 };
        await markFailed(pod, context, signal);
      }
      await remove(pod, context, signal);
      return {};
  }
}

async function nodeExists(name: string, { client }: ControllerContext, signal: AbortSignal): Promise<boolean> {
  try {
    await client.get(NODES, { namespace: '', name }, signal);
    return true;
  } catch (error) {
    if (isReason(error, 'NotFound')) return false;
    throw error;
  }
}

/** Conditional on the version that was seen: somebody may have told meanwhile how the pod has ended. */
async function markFailed(pod: Pod, { client, clock }: ControllerContext, signal: AbortSignal): Promise<void> {
  const status = failedStatus(pod, clock.now());
  if (status === undefined) return;
  const { uid, resourceVersion } = pod.metadata;
  await ignoreNotFound(
    client.write(
      {
        verb: 'patch',
        resource: PODS,
        key: keyOf(pod),
        patch: { metadata: { uid, resourceVersion }, status },
        patchType: 'application/strategic-merge-patch+json',
        subresource: 'status',
      },
      signal,
    ),
  );
}

async function remove(pod: Pod, { client }: ControllerContext, signal: AbortSignal): Promise<void> {
  const { uid } = pod.metadata;
  const options = { gracePeriodSeconds: 0, preconditions: uid === undefined ? {} : { uid } };
  await ignoreNotFound(client.write({ verb: 'delete', resource: PODS, key: keyOf(pod), options }, signal));
}
