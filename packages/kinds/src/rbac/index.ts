import type { ResourceDefinition } from '@gantry/apimachinery';
import { clusterRoleBindings } from './cluster-role-binding.ts';
import { clusterRoles } from './cluster-role.ts';
import { roleBindings } from './role-binding.ts';
import { roles } from './role.ts';

/** The kinds of `rbac.authorization.k8s.io`, in discovery's order. */
export const rbacKinds: readonly ResourceDefinition[] = [clusterRoleBindings, clusterRoles, roleBindings, roles];
