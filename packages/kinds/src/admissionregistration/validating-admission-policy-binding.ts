import {
  duplicate,
  type FieldError,
  invalid,
  oneOf,
  repeatedAt,
  required,
  VALIDATING_ADMISSION_POLICY_BINDINGS,
  type ValidatingAdmissionPolicyBinding,
} from '@gantry/objects';
import { defineResource } from '@gantry/apimachinery';
import { admissionConfiguration, policyBindingColumns } from './admission-configuration.ts';
import {
  defaultMatchResources,
  validateMatchResources,
  validateParamRef,
  validatePolicyName,
} from './match-resources.ts';

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
  const isRepeated = repeatedAt(actions);
  const errors = actions.flatMap((action, i) => [
    ...oneOf(`${path}[${i}]`, action, ACTIONS),
    ...(isRepeated(i) ? [duplicate(`${path}[${i}]`, action)] : []),
  ]);
  if (actions.includes('Deny') && actions.includes('Warn')) {
    const detail =
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)';
    errors.push(invalid(path, actions, detail));
  }
  if (actions.length === 0) errors.push(required(path, 'at least one validation action is required'));
  return errors;
}

export const validatingAdmissionPolicyBindings = defineResource(VALIDATING_ADMISSION_POLICY_BINDINGS, {
  categories: ['api-extensions'],
  schema: 'admissionregistration.v1.ValidatingAdmissionPolicyBinding',
  strategy: {
    ...admissionConfiguration,
    applyDefaults: (object) => {
      object.spec ??= { policyName: '', validationActions: [] };
      defaultMatchResources(object.spec.matchResources);
    },
    validate,
  },
  columns: policyBindingColumns,
});
