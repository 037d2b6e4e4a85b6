import { ROLES, pathSegment } from '@gantry/objects';
import { createdAtColumn, defineResource, nameColumn } from '@gantry/apimachinery';
import { validatePolicyRules } from './rules.ts';

export const roles = defineResource(ROLES, {
  schema: 'rbac.v1.Role',
  strategy: {
    validateName: pathSegment,
    validate: (object) => validatePolicyRules(object.rules, 'namespace'),
    metadataOnUpdate: 'whole first',
    allowCreateOnUpdate: true,
  },
  columns: [nameColumn, createdAtColumn],
});
