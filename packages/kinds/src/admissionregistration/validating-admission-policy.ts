import {
  type FieldError,
  VALIDATING_ADMISSION_POLICIES,
  type ValidatingAdmissionPolicy,
  required,
} from '@gantry/objects';
import { METADATA_AND_SPEC, PART_VERBS, ageColumn, column, defineResource, nameColumn } from '@gantry/apimachinery';
import { admissionConfiguration } from './admission-configuration.ts';
import { defaultPolicy } from './match-resources.ts';
import { paramKindColumn, validateValidatingPolicy } from './policies.ts';
import { validateConditions } from '../fields/conditions.ts';
import { restoreField } from '../fields/status.ts';

/** Metadata that a status update does not change. */
const OWN_METADATA = ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const;

function validateStatus({ status }: ValidatingAdmissionPolicy): FieldError[] {
  const { typeChecking, conditions } = status ?? {};
  const warnings = (typeChecking?.expressionWarnings ?? []).flatMap(({ warning = '', fieldRef = '' }, i) => {
    const path = `status.typeChecking.expressionWarnings[${i}]`;
    return [
      ...(warning === '' ? [required(`${path}.warning`)] : []),
      ...(fieldRef.trim() === '' ? [required(`${path}.fieldRef`)] : []),
    ];
  });
  return [...warnings, ...validateConditions(conditions, 'status.conditions')];
}

export const validatingAdmissionPolicies = defineResource(VALIDATING_ADMISSION_POLICIES, {
  categories: ['api-extensions'],
  schema: 'admissionregistration.v1.ValidatingAdmissionPolicy',
  strategy: {
    ...admissionConfiguration,
    applyDefaults: defaultPolicy,
    prepareForCreate: (object) => {
      object.status = {};
    },
    prepareForUpdate: (object, old) => {
      object.status = old.status ?? {};
    },
    validateCreate: ({ metadata, spec }) => validateValidatingPolicy(metadata.name, spec ?? {}, undefined),
    validateUpdate: ({ metadata, spec }, old) => validateValidatingPolicy(metadata.name, spec ?? {}, old.spec ?? {}),
  },
  subresources: [
    {
      name: 'status',
      resetFields: METADATA_AND_SPEC,
      verbs: PART_VERBS,
      prepareForUpdate: (object, old) => {
        object.spec = old.spec ?? {};
        for (const field of OWN_METADATA) restoreField(object.metadata, old.metadata, field);
      },
      validateUpdate: validateStatus,
    },
  ],
  columns: [
    nameColumn,
    column(
      'Validations',
      'Validations indicates the number of validation rules defined in this configuration',
      ({ spec }) => spec?.validations?.length ?? 0,
      {
        type: 'integer',
      },
    ),
    paramKindColumn,
    ageColumn,
  ],
});
