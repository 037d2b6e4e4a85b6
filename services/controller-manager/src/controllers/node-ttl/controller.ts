import { ignoreNotFound } from '@gantry/client';
import { carryOut, type ControllerSpec } from '@gantry/controller-runtime';
import { keyOf, NODE_TTL_ANNOTATION, NODES } from '@gantry/objects';
import { type Action, planTtl, stepOf } from './plan.ts';

/** Sets an annotation on nodes that tells agents how long they may cache objects. Keys are nodes. */
export function createNodeTtlController(): ControllerSpec {
  let step = 0;
  return {
    name: 'node-ttl',
    eventSource: 'ttl-controller',
    watches: [
      {
        // A deleted node may change the size class of the cluster.
        resource: NODES,
        keys: (node, old) => {
          const of = node ?? old;
          const isSame =
            node?.metadata.annotations?.[NODE_TTL_ANNOTATION] === old?.metadata.annotations?.[NODE_TTL_ANNOTATION];
          return of === undefined || (node !== undefined && old !== undefined && isSame) ? [] : [keyOf(of)];
        },
      },
    ],
    begin: () => {
      step = 0;
    },
    reconcile: async (key, { cache, client, clock, enqueue }, signal) => {
      const nodes = cache.list(NODES);
      const now = stepOf(nodes.length, step);
      if (now !== step) for (const node of nodes) enqueue(keyOf(node));
      step = now;
      const annotate = ({ ttlSeconds }: Action) => {
        const merge = { metadata: { annotations: { [NODE_TTL_ANNOTATION]: String(ttlSeconds) } } };
        return ignoreNotFound(client.patch(NODES, key, { merge }, signal));
      };
      return await carryOut(planTtl(cache.get(NODES, key), step), annotate, clock);
    },
  };
}
