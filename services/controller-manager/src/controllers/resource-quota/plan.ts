import type { Instant } from '@gantry/base';
import { compareAmounts, type GroupResource, type KubeObject, type ResourceQuota, totalUsage } from '@gantry/api';

export type Action = { readonly kind: 'updateStatus'; readonly status: NonNullable<ResourceQuota['status']> };

/** An object with the resource that it is of. */
export interface CountedObject {
  readonly of: GroupResource;
  readonly object: KubeObject;
}

/** A quota's status repeats what is allowed and says how much of it is used by what exists. */
export function planQuota(
  quota: ResourceQuota | undefined,
  objects: readonly CountedObject[],
  now: Instant,
): readonly Action[] {
  if (quota === undefined || quota.metadata.deletionTimestamp !== undefined) return [];
  const hard = quota.spec?.hard ?? {};
  const used = totalUsage(quota, objects, now);
  if (same(hard, quota.status?.hard ?? {}) && same(used, quota.status?.used ?? {})) return [];
  return [{ kind: 'updateStatus', status: { hard: { ...hard }, used: { ...used } } }];
}

function same(left: Readonly<Record<string, string>>, right: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(left);
  if (names.length !== Object.keys(right).length) return false;
  return names.every((name) => right[name] !== undefined && compareAmounts(left[name] ?? '', right[name] ?? '') === 0);
}
