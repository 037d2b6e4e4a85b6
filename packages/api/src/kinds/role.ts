import type { Role } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { createdAtColumn, nameColumn } from './columns.ts';
import { pathSegment } from './rules/names.ts';
import { RBAC_GROUP, validatePolicyRules } from './rules/rbac.ts';
import { STORED_VERBS } from './verbs.ts';

export const roles: ResourceDefinition<Role> = {
  group: RBAC_GROUP,
  version: 'v1',
  kind: 'Role',
  resource: 'roles',
  singular: 'role',
  shortNames: [],
  categories: [],
  namespaced: true,
  schema: 'rbac.v1.Role',
  verbs: STORED_VERBS,
  strategy: {
    validateName: pathSegment,
    validate: (object) => validatePolicyRules(object.rules, 'namespace'),
    metadataOnUpdate: 'whole first',
    allowCreateOnUpdate: true,
  },
  subresources: [],
  columns: [nameColumn, createdAtColumn],
  selectableFields: {},
  stored: true,
};
