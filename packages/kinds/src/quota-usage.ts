import type { QuotaUsage } from '@gantry/apimachinery';
import {
  type GroupResource,
  type KubeObject,
  type ResourceQuota,
  canonicalQuantity,
  formatQuantity,
  parseQuantity,
  subtractQuantity,
} from '@gantry/objects';
import { addAmounts, type Amounts, compareAmounts } from './fields/quota.ts';
import { resources } from './registry.ts';

/** By group and resource: all versions of a kind have the same usage. */
const USAGES: ReadonlyMap<string, QuotaUsage> = new Map(
  resources.flatMap(({ group, resource, quota }) => (quota === undefined ? [] : [[`${group}/${resource}`, quota]])),
);

function usageOf({ group, resource }: GroupResource): QuotaUsage | undefined {
  return USAGES.get(`${group}/${resource}`);
}

/** The name by which quotas count the objects of a resource. */
function countName({ group, resource }: GroupResource): string {
  return `count/${resource}${group === '' ? '' : `.${group}`}`;
}

/** The resource that a quota counts by this name; undefined for other names. */
export function countedResource(name: string): GroupResource | undefined {
  const [, resource, group = ''] = /^count\/([^.]+)(?:\.(.+))?$/.exec(name) ?? [];
  return resource === undefined ? undefined : { group, resource };
}

/** The amounts of quota that an object uses. `now` decides which terminating pods still count; all do when absent. */
export function quotaUsage(of: GroupResource, object: KubeObject, now = Number.NEGATIVE_INFINITY): Amounts {
  return { [countName(of)]: '1', ...usageOf(of)?.usage(object, now) };
}

/** Whether an object is in all scopes of a quota. Only pods and claims can be in any. */
function inQuotaScopes(quota: ResourceQuota, of: GroupResource, object: KubeObject): boolean {
  const scopes = [
    ...(quota.spec?.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists', values: [] as string[] })),
    ...(quota.spec?.scopeSelector?.matchExpressions ?? []),
  ];
  if (scopes.length === 0) return true;
  const isInScope = usageOf(of)?.isInScope;
  return (
    isInScope !== undefined &&
    scopes.every(({ scopeName, operator, values = [] }) => isInScope(object, scopeName, operator, values))
  );
}

/** Whether a quota applies to an object: it limits something of its kind, and the object matches all its scopes. */
export function quotaMatches(quota: ResourceQuota, of: GroupResource, object: KubeObject): boolean {
  return limitedNames(Object.keys(quota.status?.hard ?? {}), of).length > 0 && inQuotaScopes(quota, of, object);
}

/** The names among `names` that apply to objects of a resource. */
export function limitedNames(names: readonly string[], of: GroupResource): readonly string[] {
  const count = countName(of);
  const own = usageOf(of);
  return names.filter((name) => name === count || own?.limits(name) === true);
}

/** The entries of `amounts` with these names. */
export function maskAmounts(amounts: Amounts, names: readonly string[]): Amounts {
  return Object.fromEntries(names.flatMap((name) => (amounts[name] === undefined ? [] : [[name, amounts[name]]])));
}

/** The increase of each amount; amounts that did not grow are left out. */
export function growthOf(now: Amounts, before: Amounts): Amounts {
  return Object.fromEntries(
    Object.entries(now).flatMap(([name, amount]) => {
      const old = before[name] ?? '0';
      if (compareAmounts(amount, old) <= 0) return [];
      return [[name, canonicalQuantity(formatQuantity(subtractQuantity(parseQuantity(amount), parseQuantity(old))))]];
    }),
  );
}

/** The total usage of a quota by these objects: an amount for each resource that it limits. */
export function totalUsage(
  quota: ResourceQuota,
  objects: readonly { readonly of: GroupResource; readonly object: KubeObject }[],
  now?: number,
): Amounts {
  const names = Object.keys(quota.spec?.hard ?? {});
  const total: Record<string, string> = Object.fromEntries(names.map((name) => [name, '0']));
  for (const { of, object } of objects) {
    if (!inQuotaScopes(quota, of, object)) continue;
    for (const [name, amount] of Object.entries(maskAmounts(quotaUsage(of, object, now), names))) {
      total[name] = addAmounts(total[name] ?? '0', amount);
    }
  }
  return total;
}
