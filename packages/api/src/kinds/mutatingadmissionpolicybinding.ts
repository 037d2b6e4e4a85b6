import type { FieldError } from '../field-error.ts';
import type { MutatingAdmissionPolicyBinding } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import {
  ADMISSION_GROUP,
  defaultMatchResources,
  staticSuffixWarnings,
  validateMatchResources,
  validateMutableOperations,
  validateParamRef,
  validatePolicyName,
} from './rules/admission-match.ts';
import { formatParamRef } from './rules/admission-policy.ts';
import { STORED_VERBS } from './verbs.ts';

function validate({ spec }: MutatingAdmissionPolicyBinding): FieldError[] {
  const { policyName, paramRef, matchResources } = spec ?? {};
  return [
    ...validatePolicyName(policyName, 'spec.policyName'),
    ...validateParamRef(paramRef, 'spec.paramRef'),
    ...validateMatchResources(matchResources, 'spec.matchResources'),
    ...validateMutableOperations(matchResources, 'spec.matchResources'),
  ];
}

export const mutatingAdmissionPolicyBindings: ResourceDefinition<MutatingAdmissionPolicyBinding> = {
  group: ADMISSION_GROUP,
  version: 'v1',
  kind: 'MutatingAdmissionPolicyBinding',
  resource: 'mutatingadmissionpolicybindings',
  singular: 'mutatingadmissionpolicybinding',
  shortNames: [],
  categories: ['api-extensions'],
  namespaced: false,
  schema: 'admissionregistration.v1.MutatingAdmissionPolicyBinding',
  verbs: STORED_VERBS,
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
  subresources: [],
  columns: [
    nameColumn,
    column('PolicyName', 'The policy that is bound.', ({ spec }) => spec?.policyName ?? ''),
    column('ParamRef', 'The object that parameters come from.', ({ spec }) => formatParamRef(spec?.paramRef)),
    ageColumn,
  ],
  selectableFields: {},
  stored: true,
};
