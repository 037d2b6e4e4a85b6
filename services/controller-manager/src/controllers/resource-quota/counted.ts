import type { ResourceDefinition } from '@gantry/apimachinery';
import {
  attributesClassesOf,
  countedResource,
  growthOf,
  isTerminating,
  limitedNames,
  quotaUsage,
  resources,
} from '@gantry/kinds';
import {
  equalJson,
  type GroupResource,
  type KubeObject,
  type ObjectKey,
  type PersistentVolumeClaim,
  type ResourceQuota,
} from '@gantry/objects';
import type { ServedResource, ServedResources } from '@gantry/controller-runtime';

/** The counted built-in resources: all stored, namespaced ones except Events. */
export const COUNTED: readonly ResourceDefinition[] = resources.filter(
  ({ stored, storage, namespaced, verbs, resource }) =>
    stored && storage === undefined && namespaced && resource !== 'events' && verbs.includes('watch'),
);

/** Whether quotas can count a custom or aggregated resource. */
export function isCounted({ namespaced, verbs }: ServedResource): boolean {
  return namespaced && verbs.includes('delete');
}

/** Whether a quota limits the number of its objects. */
export function isLimited(of: ServedResource, { spec }: ResourceQuota): boolean {
  return limitedNames(Object.keys(spec?.hard ?? {}), of).length > 0;
}

/** The key of an object's namespace. */
export function namespaceOf(object: KubeObject | undefined): readonly ObjectKey[] {
  return object === undefined ? [] : [{ namespace: '', name: object.metadata.namespace ?? '' }];
}

/**
 * Whether a quota must be counted: it is new, its spec has changed, or `hard` in its status differs from the spec. An increase by admission
 * does not cause a count at once, because the object may not exist yet.
 */
export function isOpen(object: ResourceQuota | undefined, old: ResourceQuota | undefined): boolean {
  if (object === undefined) return false;
  if (old === undefined || !equalJson(object.spec ?? {}, old.spec ?? {})) return true;
  return !equalJson(object.status?.hard ?? {}, object.spec?.hard ?? {});
}

/** Whether an object is deleted, uses less of a quota than before, or moves to another quota. */
export function makesRoom(
  of: ResourceDefinition,
  object: KubeObject | undefined,
  old: KubeObject | undefined,
): boolean {
  if (object === undefined) return true;
  if (old === undefined) return false;
  if (of.group === '' && of.resource === 'pods' && isTerminating(object) !== isTerminating(old)) return true;
  if (of.group === '' && of.resource === 'persistentvolumeclaims') {
    const [now, before] = [object as PersistentVolumeClaim, old as PersistentVolumeClaim];
    if (!equalJson(attributesClassesOf(now), attributesClassesOf(before))) return true;
  }
  return Object.keys(growthOf(quotaUsage(of, old), quotaUsage(of, object))).length > 0;
}

/** Counted resources of aggregated groups whose discovery has not succeeded. */
export function undiscovered(quotas: readonly ResourceQuota[], served: ServedResources): readonly GroupResource[] {
  const isFailing = (group: string) => served.failures().some((version) => version.startsWith(`${group}/`));
  return quotas
    .flatMap(({ spec }) => Object.keys(spec?.hard ?? {}))
    .flatMap((name) => countedResource(name) ?? [])
    .filter((of) => served.find(of) === undefined && (!served.isSettled() || isFailing(of.group)))
    .filter((of) => !COUNTED.some(({ group, resource }) => group === of.group && resource === of.resource));
}
