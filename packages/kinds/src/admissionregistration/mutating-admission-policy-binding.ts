import {
  type FieldError,
  MUTATING_ADMISSION_POLICY_BINDINGS,
  type MutatingAdmissionPolicyBinding,
} from '@gantry/objects';
import { defineResource } from '@gantry/apimachinery';
import { admissionConfiguration, policyBindingColumns } from './admission-configuration.ts';
import {
  defaultMatchResources,
  validateMatchResources,
  validateMutableOperations,
  validateParamRef,
  validatePolicyName,
} from './match-resources.ts';

function validate({ spec }: MutatingAdmissionPolicyBinding): FieldError[] {
  const { policyName, paramRef, matchResources } = spec ?? {};
  return [
    ...validatePolicyName(policyName, 'spec.policyName'),
    ...validateParamRef(paramRef, 'spec.paramRef'),
    ...validateMatchResources(matchResources, 'spec.matchResources'),
    ...validateMutableOperations(matchResources, 'spec.matchResources'),
  ];
}

export const mutatingAdmissionPolicyBindings = defineResource(MUTATING_ADMISSION_POLICY_BINDINGS, {
  categories: ['api-extensions'],
  schema: 'admissionregistration.v1.MutatingAdmissionPolicyBinding',
  strategy: {
    ...admissionConfiguration,
    applyDefaults: (object) => {
      object.spec ??= {};
      defaultMatchResources(object.spec.matchResources);
    },
    validate,
  },
  columns: policyBindingColumns,
});
