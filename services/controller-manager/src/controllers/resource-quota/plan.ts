import type { Instant } from '@gantry/base';
import {
  compareAmounts,
  type GroupResource,
  type KubeObject,
  limitedNames,
  maskAmounts,
  type ResourceQuota,
  totalUsage,
} from '@gantry/api';

export type Action = { readonly kind: 'updateStatus'; readonly status: NonNullable<ResourceQuota['status']> };

/** An object with the resource that it is of. */
export interface CountedObject {
  readonly of: GroupResource;
  readonly object: KubeObject;
}

/** What the plan looks at. */
export interface ObservedQuota {
  readonly quota: ResourceQuota | undefined;
  readonly objects: readonly CountedObject[];
  /** Resources whose objects nobody can tell now. */
  readonly unknown: readonly GroupResource[];
}

/**
 * A quota's status repeats what is allowed and says how much of it is used by what exists. Where nobody knows what exists, what
 * was known last stands.
 */
export function planQuota({ quota, objects, unknown }: ObservedQuota, now: Instant): readonly Action[] {
  if (quota === undefined || quota.metadata.deletionTimestamp !== undefined) return [];
  const hard = quota.spec?.hard ?? {};
  const before = quota.status?.used ?? {};
  const kept = maskAmounts(
    before,
    unknown.flatMap((of) => limitedNames(Object.keys(hard), of)),
  );
  const used = { ...totalUsage(quota, objects, now), ...kept };
  if (same(hard, quota.status?.hard ?? {}) && same(used, before)) return [];
  return [{ kind: 'updateStatus', status: { hard: { ...hard }, used } }];
}

function same(left: Readonly<Record<string, string>>, right: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(left);
  if (names.length !== Object.keys(right).length) return false;
  return names.every((name) => right[name] !== undefined && compareAmounts(left[name] ?? '', right[name] ?? '') === 0);
}
