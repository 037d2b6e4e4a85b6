import { type FieldError, invalid } from '../field-error.ts';
import type { ResourceClaimTemplate } from '../generated/types.ts';
import { equalJson } from '../object.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, nameColumn } from './columns.ts';
import { defaultClaimSpec, validateClaimSpec } from './rules/device-claim.ts';
import { IMMUTABLE } from './rules/errors.ts';
import { validateAnnotations, validateLabels } from './rules/labels.ts';
import { STORED_VERBS } from './verbs.ts';

function validateCreate({ spec }: ResourceClaimTemplate): FieldError[] {
  const { labels, annotations } = spec?.metadata ?? {};
  return [
    ...validateAnnotations(annotations, 'spec.metadata.annotations'),
    ...validateLabels(labels, 'spec.metadata.labels'),
    ...validateClaimSpec(spec?.spec, 'spec.spec'),
  ];
}

export const resourceClaimTemplates: ResourceDefinition<ResourceClaimTemplate> = {
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'ResourceClaimTemplate',
  resource: 'resourceclaimtemplates',
  singular: 'resourceclaimtemplate',
  shortNames: [],
  categories: [],
  namespaced: true,
  schema: 'resource.v1.ResourceClaimTemplate',
  verbs: STORED_VERBS,
  strategy: {
    applyDefaults: ({ spec }) => defaultClaimSpec(spec?.spec),
    validateCreate,
    validateUpdate: ({ spec }, old) => (equalJson(spec, old.spec) ? [] : [invalid('spec', spec, IMMUTABLE)]),
    metadataOnUpdate: 'change',
  },
  subresources: [],
  columns: [nameColumn, ageColumn],
  selectableFields: {},
  stored: true,
};
