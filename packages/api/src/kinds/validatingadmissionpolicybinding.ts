import { duplicate, type FieldError, invalid, notSupported, required } from '../field-error.ts';
import type { ValidatingAdmissionPolicyBinding } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import {
  ADMISSION_GROUP,
  defaultMatchResources,
  staticSuffixWarnings,
  validateMatchResources,
  validateParamRef,
  validatePolicyName,
} from './rules/admission-match.ts';
import { formatParamRef } from './rules/admission-policy.ts';
import { STORED_VERBS } from './verbs.ts';

const ACTIONS = ['Audit', 'Deny', 'Warn'];

function validate({ spec }: ValidatingAdmissionPolicyBinding): FieldError[] {
  const { policyName, paramRef, matchResources, validationActions } = spec;
  return [
    ...validatePolicyName(policyName, 'spec.policyName'),
    ...validateParamRef(paramRef, 'spec.paramRef'),
    ...validateMatchResources(matchResources, 'spec.matchResources'),
    ...validateActions(validationActions ?? [], 'spec.validationActions'),
  ];
}

function validateActions(actions: readonly string[], path: string): FieldError[] {
  const errors = actions.flatMap((action, i) => [
    ...(ACTIONS.includes(action) ? [] : [notSupported(`${path}[${i}]`, action, ACTIONS)]),
    ...(actions.indexOf(action) < i ? [duplicate(`${path}[${i}]`, action)] : []),
  ]);
  if (actions.includes('Deny') && actions.includes('Warn')) {
    const detail =
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)';
    errors.push(invalid(path, actions, detail));
  }
  if (actions.length === 0) errors.push(required(path, 'at least one validation action is required'));
  return errors;
}

export const validatingAdmissionPolicyBindings: ResourceDefinition<ValidatingAdmissionPolicyBinding> = {
  group: ADMISSION_GROUP,
  version: 'v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  resource: 'validatingadmissionpolicybindings',
  singular: 'validatingadmissionpolicybinding',
  shortNames: [],
  categories: ['api-extensions'],
  namespaced: false,
  schema: 'admissionregistration.v1.ValidatingAdmissionPolicyBinding',
  verbs: STORED_VERBS,
  strategy: {
    applyDefaults: (object) => {
      object.spec ??= { policyName: '', validationActions: [] };
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
    column('PolicyName', 'The policy that is bound.', ({ spec }) => spec.policyName ?? ''),
    column('ParamRef', 'The object that parameters come from.', ({ spec }) => formatParamRef(spec.paramRef)),
    ageColumn,
  ],
  selectableFields: {},
  stored: true,
};
