import { type FieldError, required } from '../field-error.ts';
import type { ValidatingAdmissionPolicy } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { ADMISSION_GROUP, defaultMatchResources, staticSuffixWarnings } from './rules/admission-match.ts';
import { paramKindColumn, validateValidatingPolicy } from './rules/admission-policy.ts';
import { validateConditions } from './rules/conditions.ts';
import { keep } from './rules/keep.ts';
import { PART_VERBS, STORED_VERBS } from './verbs.ts';

/** What a change of the status leaves as it is. */
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

export const validatingAdmissionPolicies: ResourceDefinition<ValidatingAdmissionPolicy> = {
  group: ADMISSION_GROUP,
  version: 'v1',
  kind: 'ValidatingAdmissionPolicy',
  resource: 'validatingadmissionpolicies',
  singular: 'validatingadmissionpolicy',
  shortNames: [],
  categories: ['api-extensions'],
  namespaced: false,
  schema: 'admissionregistration.v1.ValidatingAdmissionPolicy',
  verbs: STORED_VERBS,
  strategy: {
    applyDefaults: (object) => {
      const spec = (object.spec ??= {});
      spec.failurePolicy ??= 'Fail';
      defaultMatchResources(spec.matchConstraints);
    },
    prepareForCreate: (object) => {
      object.status = {};
    },
    prepareForUpdate: (object, old) => {
      object.status = old.status ?? {};
    },
    validateCreate: ({ metadata, spec }) => validateValidatingPolicy(metadata.name, spec ?? {}, undefined),
    validateUpdate: ({ metadata, spec }, old) => validateValidatingPolicy(metadata.name, spec ?? {}, old.spec ?? {}),
    finalizers: 'qualified',
    metadataOnUpdate: 'object',
    warnings: ({ metadata }) => staticSuffixWarnings(metadata.name),
    allowUnconditionalUpdate: false,
    hasGeneration: true,
  },
  subresources: [
    {
      name: 'status',
      verbs: PART_VERBS,
      prepareForUpdate: (object, old) => {
        object.spec = old.spec ?? {};
        for (const field of OWN_METADATA) keep(object.metadata, old.metadata, field);
      },
      validateUpdate: validateStatus,
    },
  ],
  columns: [
    nameColumn,
    column('Validations', 'How many validations the policy has.', ({ spec }) => spec?.validations?.length ?? 0, {
      type: 'integer',
    }),
    paramKindColumn,
    ageColumn,
  ],
  selectableFields: {},
  stored: true,
};
