import {
  equalJson,
  isReason,
  type KubeObject,
  type ObjectKey,
  type Pod,
  type ResourceQuota,
  type ResourceRef,
} from '@gantry/api';
import type { ControllerContext, ControllerSpec, Result, WatchSpec } from '@gantry/controller-runtime';
import { CONFIG_MAPS, DEPLOYMENTS, LEASES, PODS, REPLICA_SETS, SECRETS, SERVICE_ACCOUNTS } from '../resources.ts';
import { planQuota } from './plan.ts';

/** What admission counted for writes that failed later is given back by counting again this often. */
const RECOUNT_MS = 300_000;

const core = (resource: string): ResourceRef => ({ group: '', version: 'v1', resource });
const QUOTAS = core('resourcequotas');
/** What is counted. */
const COUNTED: readonly ResourceRef[] = [
  PODS,
  CONFIG_MAPS,
  SECRETS,
  SERVICE_ACCOUNTS,
  core('services'),
  core('persistentvolumeclaims'),
  core('replicationcontrollers'),
  DEPLOYMENTS,
  REPLICA_SETS,
  LEASES,
];

/** Keys are namespaces: whatever goes away there makes room in its quotas. */
export const resourceQuotaController: ControllerSpec = {
  name: 'resource-quota',
  eventSource: 'resourcequota-controller',
  watches: [
    {
      resource: QUOTAS,
      keys: (object, old) =>
        isOpen(object as ResourceQuota | undefined, old as ResourceQuota | undefined) ? namespaceOf(object) : [],
    },
    ...COUNTED.map(
      (resource): WatchSpec => ({
        resource,
        keys: (object, old) => (makesRoom(object, old) ? namespaceOf(object ?? old) : []),
      }),
    ),
  ],
  reconcile,
};

function namespaceOf(object: KubeObject | undefined): readonly ObjectKey[] {
  return object === undefined ? [] : [{ namespace: '', name: object.metadata.namespace ?? '' }];
}

/**
 * Whether a quota is new, says something new, or its status allows something else than it. What admission counts up is not
 * counted again at once: what it is for may not have been made yet.
 */
function isOpen(object: ResourceQuota | undefined, old: ResourceQuota | undefined): boolean {
  if (object === undefined) return false;
  if (old === undefined || !equalJson(object.spec ?? {}, old.spec ?? {})) return true;
  return !equalJson(object.status?.hard ?? {}, object.spec?.hard ?? {});
}

/** Whether something has gone, or a pod has ended. */
function makesRoom(object: KubeObject | undefined, old: KubeObject | undefined): boolean {
  if (object === undefined) return true;
  const ended = (one: KubeObject | undefined) =>
    ['Succeeded', 'Failed'].includes((one as Pod | undefined)?.status?.phase ?? '');
  return object.kind === 'Pod' && ended(object) && !ended(old);
}

async function reconcile({ name }: ObjectKey, context: ControllerContext, signal: AbortSignal): Promise<Result> {
  const { cache, client } = context;
  const quotas = cache.list<ResourceQuota>(QUOTAS, name);
  if (quotas.length === 0) return {};
  const objects = [...COUNTED, QUOTAS].flatMap((of) =>
    cache.list<KubeObject>(of, name).map((object) => ({ of, object })),
  );
  for (const quota of quotas) {
    for (const { status } of planQuota(quota, objects)) {
      const key = { namespace: name, name: quota.metadata.name ?? '' };
      try {
        const object = { ...quota, status };
        await client.write({ verb: 'update', resource: QUOTAS, key, object, subresource: 'status' }, signal);
      } catch (error) {
        if (isReason(error, 'Conflict')) return { requeueAfterMs: 100 };
        if (!isReason(error, 'NotFound')) throw error;
      }
    }
  }
  return { requeueAfterMs: RECOUNT_MS };
}
