import { ignoreNotFound } from '@gantry/client';
import { carryOut, type ControllerSpec } from '@gantry/controller-runtime';
import { CLUSTER_ROLES, keyOf } from '@gantry/objects';
import { type Action, planAggregation } from './plan.ts';

/** Keeps the rules of aggregated ClusterRoles. Any changed role may be one that they select. */
export const clusterRoleAggregationController: ControllerSpec = {
  name: 'clusterrole-aggregation',
  eventSource: 'clusterrole-aggregation-controller',
  watches: [
    {
      resource: CLUSTER_ROLES,
      keys: (_object, _old, cache) =>
        cache
          .list(CLUSTER_ROLES)
          .filter(({ aggregationRule }) => aggregationRule !== undefined)
          .map(keyOf),
    },
  ],
  reconcile: async (key, { cache, client, clock }, signal) => {
    const role = cache.get(CLUSTER_ROLES, key);
    if (role === undefined) return {};
    const setRules = ({ rules }: Action) =>
      ignoreNotFound(client.update(CLUSTER_ROLES, { ...role, rules: [...rules] }, signal));
    return await carryOut(planAggregation(role, cache.list(CLUSTER_ROLES)), setRules, clock);
  },
};
