import {
  type FieldError,
  MUTATING_ADMISSION_POLICY_BINDINGS,
  type MutatingAdmissionPolicyBinding,
} from '@gantry/objects';
import { ageColumn, column, defineResource, nameColumn } from '@gantry/apimachinery';
import {
  defaultMatchResources,
  staticSuffixWarnings,
  validateMatchResources,
  validateMutableOperations,
  validateParamRef,
  validatePolicyName,
} from './match-resources.ts';
import { formatParamRef } from './policies.ts';

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
    applyDefaults: (object) => {
      object.spec ??= {};
      defaultMatchResources(object.spec.matchResources);
    },
    validate,
    finalizers: 'qualified',
    metadataOnUpdate: 'object',
    warnings: ({ metadata }) => staticSuffixWarnings(metadata.name),
    allowUnconditionalUpdate: false,
    hasGeneration: true,
  },
  columns: [
    nameColumn,
    column(
      'PolicyName',
      'PolicyName indicates the policy definition which the policy binding binded to',
      ({ spec }) => spec?.policyName ?? '',
    ),
    column('ParamRef', 'ParamRef indicates the param resource which sets the configuration param', ({ spec }) =>
      formatParamRef(spec?.paramRef),
    ),
    ageColumn,
  ],
});
