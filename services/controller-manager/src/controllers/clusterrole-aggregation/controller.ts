import { ignoreNotFound } from '@gantry/client';
import { carryOut, type ControllerSpec, lookAgainOnConflict } from '@gantry/controller-runtime';
import { CLUSTER_ROLES, keyOf } from '@gantry/objects';
import { type Action, MANAGER, planAggregation } from './plan.ts';

/** How soon to look again at a role that others wrote, or deleted, meanwhile. */
const CONFLICT_MS = 100;
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
    const { apiVersion, kind, metadata } = role;
    const { name = '', uid = '' } = metadata;
    const setRules = ({ rules }: Action) => {
      // With the uid a role that was deleted meanwhile is refused, not made again.
      const configuration = {
        apiVersion,
        kind,
        metadata: { name, uid },
        ...(rules === undefined ? {} : { rules: [...rules] }),
      };
      return ignoreNotFound(client.apply(CLUSTER_ROLES, configuration, { fieldManager: MANAGER }, signal));
    };
    const done = carryOut(planAggregation(role, cache.list(CLUSTER_ROLES)), setRules, clock);
    return await lookAgainOnConflict(done, CONFLICT_MS);
  },
};
