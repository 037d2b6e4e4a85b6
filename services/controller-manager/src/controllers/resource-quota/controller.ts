import {
  attributesClassesOf,
  countedResource,
  equalJson,
  type GroupResource,
  growthOf,
  isReason,
  isTerminating,
  type KubeObject,
  limitedNames,
  type ObjectKey,
  type PersistentVolumeClaim,
  quotaUsage,
  type ResourceDefinition,
  type ResourceQuota,
  resources,
} from '@gantry/api';
import type {
  ControllerContext,
  ControllerSpec,
  Result,
  ServedResource,
  ServedResources,
  WatchSpec,
} from '@gantry/controller-runtime';
import { planQuota } from './plan.ts';

/** What admission counted for writes that failed later is given back by counting again this often. */
const RECOUNT_MS = 300_000;

const QUOTAS = { group: '', version: 'v1', resource: 'resourcequotas' };
/** What is counted: all that is stored in namespaces but Events. */
const COUNTED: readonly ResourceDefinition[] = resources.filter(
  ({ stored, storage, namespaced, verbs, resource }) =>
    stored && storage === undefined && namespaced && resource !== 'events' && verbs.includes('watch'),
);

/** Keys are namespaces: whatever goes away there makes room in its quotas. */
export const resourceQuotaController: ControllerSpec = {
  name: 'resource-quota',
  eventSource: 'resourcequota-controller',
  watches: [
    {
      resource: QUOTAS,
      keys: (object, old) => (isOpen(object, old) ? namespaceOf(object) : []),
    },
    ...COUNTED.map(
      (definition): WatchSpec => ({
        resource: definition,
        keys: (object, old) => (makesRoom(definition, object, old) ? namespaceOf(object ?? old) : []),
      }),
    ),
  ],
  served: {
    wants: isCounted,
    // Servers of other APIs do not count what they admit.
    keys: ({ origin }, object, old) =>
      object === undefined || (origin === 'aggregated' && old === undefined) ? namespaceOf(object ?? old) : [],
    shift: (resource, cache) =>
      cache
        .list<ResourceQuota>(QUOTAS)
        .filter((quota) => isLimited(resource, quota))
        .flatMap(namespaceOf),
  },
  reconcile,
};

function isCounted({ namespaced, verbs }: ServedResource): boolean {
  return namespaced && verbs.includes('delete');
}

function isLimited(of: ServedResource, { spec }: ResourceQuota): boolean {
  return limitedNames(Object.keys(spec?.hard ?? {}), of).length > 0;
}

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

/** Whether something has gone, or takes less of quotas than before, or of others. */
function makesRoom(of: ResourceDefinition, object: KubeObject | undefined, old: KubeObject | undefined): boolean {
  if (object === undefined) return true;
  if (old === undefined) return false;
  if (of.group === '' && of.resource === 'pods' && isTerminating(object) !== isTerminating(old)) return true;
  if (of.group === '' && of.resource === 'persistentvolumeclaims') {
    const [now, before] = [object as PersistentVolumeClaim, old as PersistentVolumeClaim];
    if (!equalJson(attributesClassesOf(now), attributesClassesOf(before))) return true;
  }
  return Object.keys(growthOf(quotaUsage(of, old), quotaUsage(of, object))).length > 0;
}

/** What quotas count in groups that somebody serves who has not said what, and did not when he was asked last. */
function unheardOf(quotas: readonly ResourceQuota[], served: ServedResources): readonly GroupResource[] {
  const isUnheard = (group: string) => served.failures().some((version) => version.startsWith(`${group}/`));
  return quotas
    .flatMap(({ spec }) => Object.keys(spec?.hard ?? {}))
    .flatMap((name) => countedResource(name) ?? [])
    .filter((of) => served.find(of) === undefined && (!served.isSettled() || isUnheard(of.group)))
    .filter((of) => !COUNTED.some(({ group, resource }) => group === of.group && resource === of.resource));
}

async function reconcile({ name }: ObjectKey, context: ControllerContext, signal: AbortSignal): Promise<Result> {
  const { cache, client, clock, served } = context;
  const quotas = cache.list<ResourceQuota>(QUOTAS, name);
  if (quotas.length === 0) return {};
  const limited = served.list().filter((of) => isCounted(of) && quotas.some((quota) => isLimited(of, quota)));
  const objects = [...COUNTED, ...limited].flatMap((of) =>
    cache.list<KubeObject>(of, name).map((object) => ({ of, object })),
  );
  const unknown = [...limited.filter((of) => !served.isSynced(of)), ...unheardOf(quotas, served)];
  for (const quota of quotas) {
    for (const { status } of planQuota({ quota, objects, unknown }, clock.now())) {
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
