import type { Instant, Plan } from '@gantry/base';
import { compareAmounts, limitedNames, maskAmounts, totalUsage } from '@gantry/kinds';
import type { GroupResource, KubeObject, ResourceQuota } from '@gantry/objects';

/** The interval of recounts, which releases what admission counted for writes that failed later. */
export const RECOUNT_MS = 300_000;
/** The first recount. It finds objects that were admitted under the old limits while new ones were written; these are not counted yet. */
const FIRST_RECOUNT_MS = 10_000;

export type Action = { readonly kind: 'updateStatus'; readonly status: NonNullable<ResourceQuota['status']> };

/** An object and its resource. */
export interface CountedObject {
  readonly of: GroupResource;
  readonly object: KubeObject;
}

/** The input of the plan. */
export interface ObservedQuota {
  readonly quota: ResourceQuota | undefined;
  readonly objects: readonly CountedObject[];
  /** Resources whose objects cannot be listed now. */
  readonly unknown: readonly GroupResource[];
}

/**
 * Computes a quota's status: `hard`, and what existing objects use. For resources that cannot be listed, the last count is kept. A quota
 * that is held by finalizers still limits, so it is counted too.
 */
export function planQuota({ quota, objects, unknown }: ObservedQuota, now: Instant): Plan<Action> {
  if (quota === undefined) return { actions: [] };
  const hard = quota.spec?.hard ?? {};
  const before = quota.status?.used ?? {};
  const kept = maskAmounts(
    before,
    unknown.flatMap((of) => limitedNames(Object.keys(hard), of)),
  );
  const used = { ...totalUsage(quota, objects, now), ...kept };
  const isLimit = same(hard, quota.status?.hard ?? {});
  const isCurrent = isLimit && same(used, before);
  return {
    actions: isCurrent ? [] : [{ kind: 'updateStatus', status: { hard: { ...hard }, used } }],
    requeueAt: now + (isLimit ? RECOUNT_MS : FIRST_RECOUNT_MS),
  };
}

function same(left: Readonly<Record<string, string>>, right: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(left);
  if (names.length !== Object.keys(right).length) return false;
  return names.every((name) => right[name] !== undefined && compareAmounts(left[name] ?? '', right[name] ?? '') === 0);
}
