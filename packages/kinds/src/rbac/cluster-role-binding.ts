import { CLUSTER_ROLE_BINDINGS, pathSegment } from '@gantry/objects';
import { defineResource } from '@gantry/apimachinery';
import { defaultBinding, validateBindingTo, validateBindingUpdate } from './rules.ts';
import { bindingColumns } from './role-binding.ts';

export const clusterRoleBindings = defineResource(CLUSTER_ROLE_BINDINGS, {
  schema: 'rbac.v1.ClusterRoleBinding',
  strategy: {
    validateName: pathSegment,
    applyDefaults: defaultBinding,
    validate: (object) => validateBindingTo(object, 'cluster'),
    validateUpdate: validateBindingUpdate,
    metadataOnUpdate: 'whole first',
    allowCreateOnUpdate: true,
  },
  columns: bindingColumns(
    'clusterRoleBinding',
    'RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.',
  ),
});
