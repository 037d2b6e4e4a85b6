import { MUTATING_ADMISSION_POLICIES } from '@gantry/objects';
import { ageColumn, column, defineResource, nameColumn } from '@gantry/apimachinery';
import { admissionConfiguration } from './admission-configuration.ts';
import { defaultPolicy } from './match-resources.ts';
import { paramKindColumn, validateMutatingPolicy } from './policies.ts';

export const mutatingAdmissionPolicies = defineResource(MUTATING_ADMISSION_POLICIES, {
  categories: ['api-extensions'],
  schema: 'admissionregistration.v1.MutatingAdmissionPolicy',
  strategy: {
    ...admissionConfiguration,
    applyDefaults: defaultPolicy,
    validateCreate: ({ spec }) => validateMutatingPolicy(spec ?? {}, undefined),
    validateUpdate: ({ spec }, old) => validateMutatingPolicy(spec ?? {}, old.spec ?? {}),
  },
  columns: [
    nameColumn,
    column(
      'Mutations',
      'Mutation indicates the number of mutations rules defined in this configuration',
      ({ spec }) => spec?.mutations?.length ?? 0,
      {
        type: 'integer',
      },
    ),
    paramKindColumn,
    ageColumn,
  ],
});
