import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '@gantry/objects';
import {
  bootstrapClusterRoleBindings,
  bootstrapClusterRoles,
  bootstrapRoleBindings,
  bootstrapRoles,
} from './bootstrap-policy.ts';
import { createRoleIndex, type RoleIndex } from './role-index.ts';

/** A role index with the default roles and bindings and with `more`, without store and cache. */
export function bootstrapPolicy(
  more: {
    readonly roles?: readonly (ClusterRole | Role)[];
    readonly bindings?: readonly (ClusterRoleBinding | RoleBinding)[];
  } = {},
): RoleIndex {
  const roles = [...bootstrapClusterRoles(), ...bootstrapRoles(), ...(more.roles ?? [])];
  const bindings = [...bootstrapClusterRoleBindings(), ...bootstrapRoleBindings(), ...(more.bindings ?? [])];
  const listed = (kind: string) =>
    bindings.filter((binding) => binding.kind === kind).map((binding) => ({ response: { object: binding } }));
  const lists = { clusterrolebindings: listed('ClusterRoleBinding'), rolebindings: listed('RoleBinding') };
  return createRoleIndex({
    list: (resource) => lists[resource],
    get: (resource, namespace, name) =>
      roles.find(
        ({ kind, metadata }) =>
          kind === (resource === 'roles' ? 'Role' : 'ClusterRole') &&
          metadata.name === name &&
          (metadata.namespace ?? '') === namespace,
      ),
  });
}
