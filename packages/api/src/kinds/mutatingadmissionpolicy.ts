import type { MutatingAdmissionPolicy } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, column, nameColumn } from './columns.ts';
import { ADMISSION_GROUP, defaultMatchResources, staticSuffixWarnings } from './rules/admission-match.ts';
import { paramKindColumn, validateMutatingPolicy } from './rules/admission-policy.ts';
import { STORED_VERBS } from './verbs.ts';

export const mutatingAdmissionPolicies: ResourceDefinition<MutatingAdmissionPolicy> = {
  group: ADMISSION_GROUP,
  version: 'v1',
  kind: 'MutatingAdmissionPolicy',
  resource: 'mutatingadmissionpolicies',
  singular: 'mutatingadmissionpolicy',
  shortNames: [],
  categories: ['api-extensions'],
  namespaced: false,
  schema: 'admissionregistration.v1.MutatingAdmissionPolicy',
  verbs: STORED_VERBS,
  strategy: {
    applyDefaults: (object) => {
      const spec = (object.spec ??= {});
      spec.failurePolicy ??= 'Fail';
      defaultMatchResources(spec.matchConstraints);
    },
    validateCreate: ({ spec }) => validateMutatingPolicy(spec ?? {}, undefined),
    validateUpdate: ({ spec }, old) => validateMutatingPolicy(spec ?? {}, old.spec ?? {}),
    finalizers: 'qualified',
    metadataOnUpdate: 'object',
    warnings: ({ metadata }) => staticSuffixWarnings(metadata.name),
    allowUnconditionalUpdate: false,
    hasGeneration: true,
  },
  subresources: [],
  columns: [
    nameColumn,
    column('Mutations', 'How many mutations the policy has.', ({ spec }) => spec?.mutations?.length ?? 0, {
      type: 'integer',
    }),
    paramKindColumn,
    ageColumn,
  ],
  selectableFields: {},
  stored: true,
};
