import type { ClusterRoleBinding } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { pathSegment } from './rules/names.ts';
import { defaultBinding, RBAC_GROUP, validateBindingTo, validateBindingUpdate } from './rules/rbac.ts';
import { bindingColumns } from './rules/rbac-columns.ts';
import { STORED_VERBS } from './verbs.ts';

export const clusterRoleBindings: ResourceDefinition<ClusterRoleBinding> = {
  group: RBAC_GROUP,
  version: 'v1',
  kind: 'ClusterRoleBinding',
  resource: 'clusterrolebindings',
  singular: 'clusterrolebinding',
  shortNames: [],
  categories: [],
  namespaced: false,
  schema: 'rbac.v1.ClusterRoleBinding',
  verbs: STORED_VERBS,
  strategy: {
    validateName: pathSegment,
    applyDefaults: defaultBinding,
    validate: (object) => validateBindingTo(object, 'cluster'),
    validateUpdate: validateBindingUpdate,
    metadataOnUpdate: 'whole first',
    allowCreateOnUpdate: true,
  },
  subresources: [],
  columns: bindingColumns(),
  selectableFields: {},
  stored: true,
};
