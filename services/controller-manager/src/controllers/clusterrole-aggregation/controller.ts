import { ignoreNotFound } from '@gantry/client';
import { carryOut, type ControllerSpec, lookAgainOnConflict } from '@gantry/controller-runtime';
import { CLUSTER_ROLES, keyOf } from '@gantry/objects';
import { type Action, MANAGER, planAggregation } from './plan.ts';

/** Milliseconds until a role is reconciled again after another client has changed or deleted it. */
const CONFLICT_MS = 100;
/** Maintains the rules of aggregated ClusterRoles. Each changed role may be selected by some of them. */
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
      // The uid prevents that a role deleted meanwhile is created again.
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
