import type { RoleBinding } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { pathSegment } from './rules/names.ts';
import { defaultBinding, RBAC_GROUP, validateBindingTo, validateBindingUpdate } from './rules/rbac.ts';
import { bindingColumns } from './rules/rbac-columns.ts';
import { STORED_VERBS } from './verbs.ts';

export const roleBindings: ResourceDefinition<RoleBinding> = {
  group: RBAC_GROUP,
  version: 'v1',
  kind: 'RoleBinding',
  resource: 'rolebindings',
  singular: 'rolebinding',
  shortNames: [],
  categories: [],
  namespaced: true,
  schema: 'rbac.v1.RoleBinding',
  verbs: STORED_VERBS,
  strategy: {
    validateName: pathSegment,
    applyDefaults: defaultBinding,
    validate: (object) => validateBindingTo(object, 'namespace'),
    validateUpdate: validateBindingUpdate,
    metadataOnUpdate: 'whole first',
    allowCreateOnUpdate: true,
  },
  subresources: [],
  columns: bindingColumns(),
  selectableFields: {},
  stored: true,
};
