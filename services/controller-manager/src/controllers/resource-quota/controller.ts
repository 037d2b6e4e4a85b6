import { ignoreNotFound } from '@gantry/client';
import {
  carryOut,
  type ControllerContext,
  type ControllerSpec,
  lookAgainOnConflict,
  type ReconcileKey,
  type Result,
  type WatchSpec,
} from '@gantry/controller-runtime';
import { type KubeObject, RESOURCE_QUOTAS } from '@gantry/objects';
import { COUNTED, isCounted, isLimited, isOpen, makesRoom, namespaceOf, undiscovered } from './counted.ts';
import { type Action, planQuota } from './plan.ts';

/** Milliseconds until a quota is counted again after admission has written it meanwhile. */
const CONFLICT_MS = 100;

/** Computes the usage of quotas. Keys are namespaces: each deletion in a namespace frees resources in its quotas. */
export const resourceQuotaController: ControllerSpec = {
  name: 'resource-quota',
  eventSource: 'resourcequota-controller',
  watches: [
    {
      resource: RESOURCE_QUOTAS,
      keys: (object, old) => (isOpen(object, old) ? namespaceOf(object) : []),
    },
    ...COUNTED.map(
      (definition): WatchSpec => ({
        resource: definition,
        keys: (object, old, cache) => {
          // Most namespaces have no quota, and comparing usages costs more than this check.
          const { namespace = '' } = (object ?? old)?.metadata ?? {};
          if (cache.list(RESOURCE_QUOTAS, namespace).length === 0) return [];
          return makesRoom(definition, object, old) ? namespaceOf(object ?? old) : [];
        },
      }),
    ),
  ],
  served: {
    wants: isCounted,
    // Aggregated API servers do not count objects at admission.
    keys: ({ origin }, object, old) =>
      object === undefined || (origin === 'aggregated' && old === undefined) ? namespaceOf(object ?? old) : [],
    onSync: (resource, cache) =>
      cache
        .list(RESOURCE_QUOTAS)
        .filter((quota) => isLimited(resource, quota))
        .flatMap(namespaceOf),
  },
  reconcile: (key, context, signal) => lookAgainOnConflict(reconcile(key, context, signal), CONFLICT_MS),
};

async function reconcile({ name }: ReconcileKey, context: ControllerContext, signal: AbortSignal): Promise<Result> {
  const { cache, client, clock, served } = context;
  const quotas = cache.list(RESOURCE_QUOTAS, name);
  if (quotas.length === 0) return {};
  const limited = served.list().filter((of) => isCounted(of) && quotas.some((quota) => isLimited(of, quota)));
  const objects = [...COUNTED, ...limited].flatMap((of) =>
    cache.list<KubeObject>(of, name).map((object) => ({ of, object })),
  );
  const unknown = [...limited.filter((of) => !served.isSynced(of)), ...undiscovered(quotas, served)];
  let requeueAfterMs = Number.POSITIVE_INFINITY;
  for (const quota of quotas) {
    const updateStatus = ({ status }: Action) =>
      ignoreNotFound(client.updateStatus(RESOURCE_QUOTAS, { ...quota, status }, signal));
    const counted = await carryOut(planQuota({ quota, objects, unknown }, clock.now()), updateStatus, clock);
    requeueAfterMs = Math.min(requeueAfterMs, counted.requeueAfterMs ?? requeueAfterMs);
  }
  return { requeueAfterMs };
}
