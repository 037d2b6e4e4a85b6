import { CLUSTER_ROLES, type ClusterRole, type FieldError, pathSegment, required } from '@gantry/objects';
import { createdAtColumn, defineResource, nameColumn, validateLabelSelector } from '@gantry/apimachinery';
import { validatePolicyRules } from './rules.ts';

function validate(object: ClusterRole): FieldError[] {
  return [...validatePolicyRules(object.rules, 'cluster'), ...validateAggregation(object)];
}

/** An aggregated role must have selectors. */
function validateAggregation({ aggregationRule }: ClusterRole): FieldError[] {
  if (aggregationRule === undefined || aggregationRule === null) return [];
  const path = 'aggregationRule.clusterRoleSelectors';
  const selectors = aggregationRule.clusterRoleSelectors ?? [];
  if (selectors.length === 0) {
    return [required(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil')];
  }
  return selectors.flatMap((selector, i) => validateLabelSelector(selector, `${path}[${i}]`));
}

export const clusterRoles = defineResource(CLUSTER_ROLES, {
  schema: 'rbac.v1.ClusterRole',
  strategy: { validateName: pathSegment, validate, metadataOnUpdate: 'whole first', allowCreateOnUpdate: true },
  columns: [nameColumn, createdAtColumn],
});
