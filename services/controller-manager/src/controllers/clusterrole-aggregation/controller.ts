import { type ClusterRole, keyOf, type ObjectKey } from '@gantry/api';
import { type ControllerContext, type ControllerSpec, type Result, type WatchSpec } from '@gantry/controller-runtime';
import { ignoreNotFound } from '../ignore-not-found.ts';
import { CLUSTER_ROLES } from '../resources.ts';
import { planAggregation } from './plan.ts';

/** Any role may be, or no longer be, one whose rules others gather. */
const everyGathering: WatchSpec = {
  resource: CLUSTER_ROLES,
  keys: (_object, _old, cache) =>
    cache
      .list<ClusterRole>(CLUSTER_ROLES)
      .filter(({ aggregationRule }) => aggregationRule !== undefined)
      .map(keyOf),
};

/** Keeps the rules of aggregated ClusterRoles. Keys are those. */
export const clusterRoleAggregationController: ControllerSpec = {
  name: 'clusterrole-aggregation',
  eventSource: 'clusterrole-aggregation-controller',
  watches: [everyGathering],
  reconcile,
};

async function reconcile(key: ObjectKey, { cache, client }: ControllerContext, signal: AbortSignal): Promise<Result> {
  const role = cache.get<ClusterRole>(CLUSTER_ROLES, key);
  if (role === undefined) return {};
  for (const { rules } of planAggregation(role, cache.list<ClusterRole>(CLUSTER_ROLES))) {
    const object: ClusterRole = { ...role, rules: [...rules] };
    await ignoreNotFound(client.write({ verb: 'update', resource: CLUSTER_ROLES, key, object }, signal));
  }
  return {};
}
