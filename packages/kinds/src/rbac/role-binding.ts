import { ROLE_BINDINGS, pathSegment } from '@gantry/objects';
import { defineResource } from '@gantry/apimachinery';
import { defaultBinding, validateBindingTo, validateBindingUpdate } from './rules.ts';
import { bindingColumns } from './binding-columns.ts';

export const roleBindings = defineResource(ROLE_BINDINGS, {
  schema: 'rbac.v1.RoleBinding',
  strategy: {
    validateName: pathSegment,
    applyDefaults: defaultBinding,
    validate: (object) => validateBindingTo(object, 'namespace'),
    validateUpdate: validateBindingUpdate,
    metadataOnUpdate: 'whole first',
    allowCreateOnUpdate: true,
  },
  columns: bindingColumns(
    'roleBinding',
    'RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.',
  ),
});
