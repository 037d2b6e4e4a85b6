import { type FieldError, required } from '../field-error.ts';
import type { ClusterRole } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { createdAtColumn, nameColumn } from './columns.ts';
import { validateLabelSelector } from './rules/labels.ts';
import { pathSegment } from './rules/names.ts';
import { RBAC_GROUP, validatePolicyRules } from './rules/rbac.ts';
import { STORED_VERBS } from './verbs.ts';

function validate(object: ClusterRole): FieldError[] {
  return [...validatePolicyRules(object.rules, 'cluster'), ...validateAggregation(object)];
}

/** Where a role gathers the rules of others, it says which. */
function validateAggregation({ aggregationRule }: ClusterRole): FieldError[] {
  if (aggregationRule === undefined || aggregationRule === null) return [];
  const path = 'aggregationRule.clusterRoleSelectors';
  const selectors = aggregationRule.clusterRoleSelectors ?? [];
  if (selectors.length === 0) {
    return [required(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil')];
  }
  return selectors.flatMap((selector, i) => validateLabelSelector(selector, `${path}[${i}]`));
}

export const clusterRoles: ResourceDefinition<ClusterRole> = {
  group: RBAC_GROUP,
  version: 'v1',
  kind: 'ClusterRole',
  resource: 'clusterroles',
  singular: 'clusterrole',
  shortNames: [],
  categories: [],
  namespaced: false,
  schema: 'rbac.v1.ClusterRole',
  verbs: STORED_VERBS,
  strategy: { validateName: pathSegment, validate, metadataOnUpdate: 'whole first', allowCreateOnUpdate: true },
  subresources: [],
  columns: [nameColumn, createdAtColumn],
  selectableFields: {},
  stored: true,
};
